"""What operators see: the log, the terminal, the service manager."""
