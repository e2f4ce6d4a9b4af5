"""What the commands print, as lines for the terminal."""
