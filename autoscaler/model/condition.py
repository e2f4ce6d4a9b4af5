"""An autoscaler's conditions: HPA's own, and one of KEP-5679, true or false, each with why."""

from datetime import datetime
from enum import StrEnum

from msgspec import Struct


class ConditionType(StrEnum):
    """HPA's conditions; the last one only where a metric has a fallback."""

    ABLE_TO_SCALE = "AbleToScale"
    SCALING_ACTIVE = "ScalingActive"
    SCALING_LIMITED = "ScalingLimited"
    SCALED_TO_ZERO = "ScaledToZero"
    METRIC_FALLBACK_ACTIVE = "MetricFallbackActive"


class Condition(Struct, frozen=True, gc=False):
    """One aspect of an autoscaler's health."""

    type: ConditionType
    status: bool
    reason: str
    """A `Reason`, or an adapter's own word for a hold."""
    message: str
    last_transition: datetime
    """When `status` last changed."""
