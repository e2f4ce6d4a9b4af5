"""The log, with a line for each decision, and the notifications to the service manager (systemd)."""

from autoscaler.log.configure import Format, Level, configure, route_uncaught

__all__ = ["Format", "Level", "configure", "route_uncaught"]
