"""The only place that writes to targets."""

from autoscaler.act.actuator import Actuator

__all__ = ["Actuator"]
