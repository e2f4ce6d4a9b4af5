"""An autoscaler's conditions: HPA's own, one that KEP-5679 proposes and one of KEDA, true or false, each with why."""

from datetime import datetime
from enum import StrEnum

from msgspec import Struct


class ConditionType(StrEnum):
    """HPA's conditions; MetricFallbackActive only where a metric has a fallback, Active only with a cooldown."""

    ABLE_TO_SCALE = "AbleToScale"
    SCALING_ACTIVE = "ScalingActive"
    SCALING_LIMITED = "ScalingLimited"
    SCALED_TO_ZERO = "ScaledToZero"
    METRIC_FALLBACK_ACTIVE = "MetricFallbackActive"
    ACTIVE = "Active"


class Condition(Struct, frozen=True, gc=False):
    """One aspect of an autoscaler's health."""

    type: ConditionType
    status: bool
    reason: str
    """A `Reason`, or an adapter's own word for a hold."""
    message: str
    last_transition: datetime
    """When `status` last changed; of Active False, the last activity."""
