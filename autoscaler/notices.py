"""The notices of a decision: of what begins with it, and of the size that it wrote."""

from collections.abc import Iterator
from typing import Final

from autoscaler.model import (
    Condition,
    ConditionType,
    Decision,
    Notice,
    NoticeType,
    Reason,
    Written,
)
from autoscaler.rules import RULES

FAILURES: Final = (Reason.FAILED_GET_SCALE, Reason.FAILED_UPDATE_SCALE, Reason.BOUNDS_CONFLICT)
"""Reasons of AbleToScale that are no holds."""
_OF_EVENTS: Final = {reason: notice for kind in RULES for reason, notice in kind.notices.items()}
"""The notices of the rules' events, by reason."""
_MAXIMUMS = (Reason.TOO_MANY_REPLICAS, Reason.MAX_TOTAL_LIMIT)


def notices(before: Decision | None, made: Decision) -> Iterator[Notice]:
    """Yield the notices of a concluded decision. `before`: the one before it. A dry run has none."""
    if made.dry_run:
        return
    if before is not None and before.dry_run:  # it sent no notices
        before = None
    if isinstance(made.outcome, Written) and made.change is not None:
        yield _notice(NoticeType.SCALED, made, Reason.SUCCESSFUL_RESCALE, made.change.reason, made.outcome.size)
    limited, held = _at_maximum(made), _held(made)
    if limited is not None and (before is None or _at_maximum(before) is None):
        yield _notice(NoticeType.AT_MAXIMUM, made, limited.reason, limited.message)
    if _failing(made) - (frozenset() if before is None else _failing(before)):
        yield _notice(NoticeType.METRIC_FAILING, made, None, made.error or "a metric has no value")
    known = None if before is None else _held(before)
    if held is not None and (known is None or known.reason != held.reason):
        yield _notice(NoticeType.HELD, made, held.reason, held.message)
    for event in made.events:
        if event.reason in _OF_EVENTS:
            yield _notice(_OF_EVENTS[event.reason], made, event.reason, event.message)


def _notice(kind: NoticeType, made: Decision, reason: str | None, message: str, size: int | None = None) -> Notice:
    desired = made.desired if size is None else size
    return Notice(kind, made.name, message, str(made.target), made.current, desired, reason)


def _at_maximum(made: Decision) -> Condition | None:
    """Return the condition of a target that may not have what is asked for. A maximum of 0 switches it off."""
    found = _condition(made, ConditionType.SCALING_LIMITED)
    return found if found is not None and found.status and found.reason in _MAXIMUMS and made.maximum != 0 else None


def _held(made: Decision) -> Condition | None:
    found = _condition(made, ConditionType.ABLE_TO_SCALE)
    return found if found is not None and not found.status and found.reason not in FAILURES else None


def _failing(made: Decision) -> frozenset[tuple[str, str]]:
    """Return the metrics without a value, as of the last cycle that read any."""
    return frozenset([(each.type, each.name) for each in made.remembered.status.metrics if each.failed])


def _condition(made: Decision, kind: ConditionType) -> Condition | None:
    return next((each for each in made.conditions if each.type == kind), None)
