"""A day of a daemon in minutes: its clocks run fast, with the reloads, restarts and faults of a bad week."""
