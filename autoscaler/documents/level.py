"""How much attention something deserves: decided here once, for the colours of the terminal and of the page."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Final

from autoscaler.model import Condition, ConditionType, Decision, Reason


class Level(StrEnum):
    """How much attention something deserves."""

    ERROR = "error"
    """Something failed. Red."""
    WARNING = "warning"
    """Something keeps it from its work until somebody acts. Amber."""
    ACTIVE = "active"
    """A size changes just now, as it should."""
    NORMAL = "normal"


_FAILURES: Final = frozenset({Reason.FAILED_GET_SCALE, Reason.FAILED_UPDATE_SCALE, Reason.BOUNDS_CONFLICT})
"""Reasons of AbleToScale; any other for which it is False is a hold or a pause."""
_WHEN_FALSE: Final[Mapping[ConditionType, Level]] = {
    ConditionType.ABLE_TO_SCALE: Level.WARNING,
    ConditionType.SCALING_ACTIVE: Level.ERROR,
}


def level_of_condition(condition: Condition, decision: Decision) -> Level:
    """Of one of the conditions of `decision`.

    ScalingLimited is a warning only where a metric asks for more than there may be: a service at its minimum is idle,
    and policies and a removal budget let go by themselves.
    """
    if condition.type is ConditionType.SCALING_LIMITED:
        return Level.WARNING if condition.status and wants_more_than_allowed(decision) else Level.NORMAL
    if condition.type is ConditionType.METRIC_FALLBACK_ACTIVE and condition.status:
        return Level.WARNING
    if condition.status:
        return Level.NORMAL
    if condition.type is ConditionType.ABLE_TO_SCALE and condition.reason in _FAILURES:
        return Level.ERROR
    if condition.reason == Reason.FALLBACK_QUERY_FAILED:
        return Level.ERROR
    if condition.reason == Reason.SCALING_DISABLED:
        return Level.WARNING
    return _WHEN_FALSE.get(condition.type, Level.NORMAL)


def wants_more_than_allowed(decision: Decision) -> bool:
    """Whether a metric asks for more than the maximum in force, or than the connection's `maxTotal` leaves it.

    An earlier recommendation that is above it does not count, nor does a metric that asks for just the maximum.
    """
    if any(step.reason == Reason.MAX_TOTAL_LIMIT for step in decision.trace):
        return True
    asked = next((step.after for step in decision.trace if step.reason == Reason.VALID_METRIC_FOUND), None)
    return asked is not None and decision.maximum is not None and asked > decision.maximum
