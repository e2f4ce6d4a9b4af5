"""The HorizontalPodAutoscaler's decision pipeline (Kubernetes 1.36): pure functions of frozen values and one `now`."""

from autoscaler.decide.changed import changed, differs
from autoscaler.decide.conclude import conclude
from autoscaler.decide.connection_limits import LimitedDecisions, apply_limits
from autoscaler.decide.pipeline import decide
from autoscaler.decide.remember import announced, remember

__all__ = ["LimitedDecisions", "announced", "apply_limits", "changed", "conclude", "decide", "differs", "remember"]
