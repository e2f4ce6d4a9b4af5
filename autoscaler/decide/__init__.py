"""The HorizontalPodAutoscaler's decision pipeline (Kubernetes 1.37): pure functions of frozen values and one `now`."""

from autoscaler.decide.changed import changed, differs
from autoscaler.decide.connection_limits import LimitedDecisions, apply_limits
from autoscaler.decide.outcome import apply_outcome
from autoscaler.decide.pipeline import decide
from autoscaler.decide.remember import remember, with_pending_write

__all__ = [
    "LimitedDecisions",
    "apply_limits",
    "apply_outcome",
    "changed",
    "decide",
    "differs",
    "remember",
    "with_pending_write",
]
