"""Documents as text: what the command line prints, on a terminal or into a pipe. Pure functions."""
