"""The log, with a line for each decision, and the notifications to the service manager (systemd)."""
