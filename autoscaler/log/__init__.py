"""The log, with a line for each decision, and the notifications to the service manager (systemd)."""

from autoscaler.log.configure import Format, Level, configure, route_uncaught
from autoscaler.log.stream import LogStream

__all__ = ["Format", "Level", "LogStream", "configure", "route_uncaught"]
