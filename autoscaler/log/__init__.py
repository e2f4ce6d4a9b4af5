"""What operators read while it runs: the log, with a line for each decision, and what the service manager is told."""

from autoscaler.log.configure import Format, Level, configure

__all__ = ["Format", "Level", "configure"]
