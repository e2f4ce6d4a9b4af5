"""The HorizontalPodAutoscaler of Kubernetes 1.37 and nothing else: pure functions of frozen values and one `now`."""

from autoscaler.hpa.controller import Asked, Controller, Goal, Rest, Wanted
from autoscaler.hpa.memory import remember, with_pending_write
from autoscaler.hpa.outcome import apply_outcome

__all__ = [
    "Asked",
    "Controller",
    "Goal",
    "Rest",
    "Wanted",
    "apply_outcome",
    "remember",
    "with_pending_write",
]
