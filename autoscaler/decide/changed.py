"""Whether a decision has something to say that the one before it had not: for the log, and for what the state keeps."""

from collections.abc import Callable, Sequence
from operator import attrgetter
from typing import Final

from autoscaler.errors import TargetError
from autoscaler.model import Brake, Condition, Conflict, Decision, MetricOutcome, Reason, Written

_ATTEMPTS: Final = (Written, Conflict, TargetError)
_CALM: Final = frozenset({Reason.READY_FOR_NEW_SCALE, Reason.SCALE_UP_STABILIZED, Reason.SCALE_DOWN_STABILIZED})
"""Reasons of AbleToScale between which a load near the edge of its tolerance goes to and fro every few cycles.

Each says that all is well. As long as no size changes, none of them says more than another, and as changes they would
be most of the log, and most of the state. `autoscaler_condition` and `explain` show them as they are.
"""
_plain: Final[Callable[[Decision], tuple[object, ...]]] = attrgetter(
    "current", "shadow", "desired", "minimum", "maximum", "dry_run", "target", "steering"
)


def changed(before: Decision | None, after: Decision) -> bool:
    """Whether `after` differs from the decision before it, or wrote.

    A write always is a change, whether it succeeded or failed, and so is a first decision (`before` None).
    """
    return before is None or isinstance(after.outcome, _ATTEMPTS) or differs(before, after)


def differs(before: Decision, after: Decision) -> bool:
    """Whether anything changed that an operator would want to know of, between two decisions about one autoscaler.

    That is: the size found or wanted, that of a dry run's shadow, a condition's status or reason (and with them the
    reason that the log names), which metrics fail, which most instances have no sample of, which brakes are on, the
    bounds in force, what operators asked for, whether it is a dry run, and the target. Values of metrics that move,
    messages that name them, and AbleToScale's turns between its calm reasons are not.
    """
    return (
        _plain(before) != _plain(after)
        or (before.conditions != after.conditions and _reasons(before.conditions) != _reasons(after.conditions))
        or _failing(before.metrics) != _failing(after.metrics)
        or _unmeasured(before.metrics) != _unmeasured(after.metrics)
        or _braking(before) != _braking(after)
    )


def _reasons(conditions: Sequence[Condition]) -> dict[str, tuple[bool, str]]:
    return {
        each.type: (each.status, Reason.READY_FOR_NEW_SCALE if each.reason in _CALM else each.reason)
        for each in conditions
    }


def _failing(metrics: Sequence[MetricOutcome]) -> list[tuple[str, str]]:
    return [(metric.type, metric.name) for metric in metrics if metric.error is not None]


def _unmeasured(metrics: Sequence[MetricOutcome]) -> list[tuple[str, str]]:
    """Those of which most instances have no sample; one alone has none after every scale-out."""
    return [(metric.type, metric.name) for metric in metrics if metric.missing and metric.mostly_missing]


def _braking(decision: Decision) -> list[Brake]:
    return [each.brake for each in decision.brakes]
