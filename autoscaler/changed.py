"""Decides whether a decision differs from the previous one enough to be logged and kept."""

from collections.abc import Callable, Sequence
from operator import attrgetter
from typing import Final

from autoscaler.errors import TargetError
from autoscaler.model import Condition, Conflict, Decision, MetricOutcome, Reason, Written
from autoscaler.rules import RULES
from autoscaler.rules.rule import Rule

_ATTEMPTS: Final = (Written, Conflict, TargetError)
_INTERCHANGEABLE: Final = frozenset(
    {Reason.READY_FOR_NEW_SCALE, Reason.SCALE_UP_STABILIZED, Reason.SCALE_DOWN_STABILIZED}
)
"""Reasons of AbleToScale that alternate while a load is near the edge of its tolerance.

All of them mean that nothing is wrong, and logging each change would fill the log and the state. `autoscaler_condition`
and `explain` show them.
"""
_SHOWING: Final = tuple([kind for kind in RULES if kind.shown is not Rule.shown])
"""The rules with memories that can be news."""
_compared_fields: Final[Callable[[Decision], tuple[object, ...]]] = attrgetter(
    "current", "desired", "minimum", "maximum", "dry_run", "target", "manual"
)


def changed(before: Decision | None, after: Decision) -> bool:
    """Return whether `after` differs from the previous decision or wrote a size.

    Every write counts as a change, whether it succeeds or fails. So does a first decision (`before` is None).
    """
    return before is None or isinstance(after.outcome, _ATTEMPTS) or differs(before, after)


def differs(before: Decision, after: Decision) -> bool:
    """Return whether two decisions differ in something that an operator wants to know.

    These are: the current or desired size, the status or reason of a condition, which metrics fail, which metrics lack
    samples for most instances, the bounds in force, what rules show of their memories, pauses and overrides, the dry
    run, and the target. Metric values, messages, and changes between the reasons above are left out.
    """
    return (
        _compared_fields(before) != _compared_fields(after)
        or (before.conditions != after.conditions and _reasons(before.conditions) != _reasons(after.conditions))
        or _failing(before.metrics) != _failing(after.metrics)
        or _unmeasured(before.metrics) != _unmeasured(after.metrics)
        or _shown(before) != _shown(after)
    )


def _reasons(conditions: Sequence[Condition]) -> dict[str, tuple[bool, str]]:
    return {
        each.type: (each.status, Reason.READY_FOR_NEW_SCALE if each.reason in _INTERCHANGEABLE else each.reason)
        for each in conditions
    }


def _failing(metrics: Sequence[MetricOutcome]) -> list[tuple[str, str]]:
    return [(metric.type, metric.name) for metric in metrics if metric.error is not None]


def _unmeasured(metrics: Sequence[MetricOutcome]) -> list[tuple[str, str]]:
    """Metrics without samples for most instances. A few instances lack samples after every scale-out."""
    return [(metric.type, metric.name) for metric in metrics if metric.missing and metric.mostly_missing]


def _shown(decision: Decision) -> list[object]:
    """Return what of the rules' memories is news, in the order of the rules."""
    memories = decision.remembered.rules.of
    return [shown for kind in _SHOWING if kind.name in memories and (shown := kind.shown(memories[kind.name]))]
