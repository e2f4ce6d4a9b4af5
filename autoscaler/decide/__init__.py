"""The HorizontalPodAutoscaler's decision pipeline (Kubernetes 1.36): pure functions of frozen values and one `now`."""

from autoscaler.decide.changed import changed, differs
from autoscaler.decide.conclude import conclude
from autoscaler.decide.pipeline import decide
from autoscaler.decide.remember import intent_of, remember, settled

__all__ = ["changed", "conclude", "decide", "differs", "intent_of", "remember", "settled"]
