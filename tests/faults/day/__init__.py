"""A day of a daemon in minutes: its clocks run fast, and reloads, restarts and faults come as in a bad week."""
