"""An autoscaler's conditions: HPA's own, and those of rules; true or false, each with why."""

from datetime import datetime
from enum import StrEnum

from msgspec import Struct


class ConditionType(StrEnum):
    """HPA's conditions."""

    ABLE_TO_SCALE = "AbleToScale"
    SCALING_ACTIVE = "ScalingActive"
    SCALING_LIMITED = "ScalingLimited"
    SCALED_TO_ZERO = "ScaledToZero"


class Condition(Struct, frozen=True, gc=False, array_like=True):
    """One aspect of an autoscaler's health."""

    type: str
    """A `ConditionType`, or a rule's."""
    status: bool
    reason: str
    """A `Reason`, or an adapter's own word for a hold."""
    message: str
    last_transition: datetime
    """When `status` last changed, unless a rule gives another time."""
