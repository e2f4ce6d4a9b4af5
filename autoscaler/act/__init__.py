"""The only place that writes: live, or in a dry run not at all."""

from autoscaler.act.actuator import Actuator

__all__ = ["Actuator"]
