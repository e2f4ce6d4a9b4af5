"""The HorizontalPodAutoscaler's decision pipeline (Kubernetes 1.36): pure functions of frozen values and one `now`."""

from autoscaler.decide.changed import changed, differs
from autoscaler.decide.conclude import conclude
from autoscaler.decide.pipeline import decide
from autoscaler.decide.remember import announced, remember
from autoscaler.decide.sharing import Shared, share

__all__ = ["Shared", "announced", "changed", "conclude", "decide", "differs", "remember", "share"]
