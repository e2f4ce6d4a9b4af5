"""The only place that writes: live, or in a dry run not at all."""

from autoscaler.act.actuator import Actuator
from autoscaler.act.fault import named

__all__ = ["Actuator", "named"]
