"""States that earlier versions wrote. Every later version opens them, repeats their decisions, and goes on."""
