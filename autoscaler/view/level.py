"""Levels of attention, from which the terminal and the page take their colours."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Final

from autoscaler.model import Condition, ConditionType, Decision, Reason
from autoscaler.notices import FAILURES
from autoscaler.rules import RULES


class Level(StrEnum):
    """How much attention something deserves."""

    ERROR = "error"
    """Something failed. Red."""
    WARNING = "warning"
    """Something needs an operator. Amber."""
    ACTIVE = "active"
    """A size changes as expected."""
    NORMAL = "normal"


_WHEN_FALSE: Final[Mapping[str, Level]] = {
    ConditionType.ABLE_TO_SCALE: Level.WARNING,
    ConditionType.SCALING_ACTIVE: Level.ERROR,
}


def level_of_condition(condition: Condition, decision: Decision) -> Level:
    """Return the level of one of the conditions of `decision`.

    ScalingLimited is a warning only if a metric asks for more than the limit: a service at its minimum is idle, and
    the limits of policies and of a removal budget end without an operator.
    """
    if condition.type == ConditionType.SCALING_LIMITED:
        return Level.WARNING if condition.status and wants_more_than_allowed(decision) else Level.NORMAL
    for kind in RULES:
        if kind.condition == condition.type:
            failed, warned = condition.reason in kind.fails, condition.reason in kind.warns
            return Level.ERROR if failed else Level.WARNING if warned else Level.NORMAL
    if condition.status:
        return Level.NORMAL
    if condition.type == ConditionType.ABLE_TO_SCALE and condition.reason in FAILURES:
        return Level.ERROR
    if condition.reason == Reason.SCALING_DISABLED:
        return Level.WARNING
    return _WHEN_FALSE.get(condition.type, Level.NORMAL)


def wants_more_than_allowed(decision: Decision) -> bool:
    """Return whether a metric asks for more than the maximum in force, or than the connection's `maxTotal` permits.

    Earlier recommendations do not count.
    """
    if any(step.reason == Reason.MAX_TOTAL_LIMIT for step in decision.trace):
        return True
    asked = next((step.after for step in decision.trace if step.reason == Reason.VALID_METRIC_FOUND), None)
    return asked is not None and decision.maximum is not None and asked > decision.maximum
