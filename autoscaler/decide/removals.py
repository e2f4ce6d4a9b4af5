"""What a scale-in is counted as under its connection's removal budget: before it is written, and after."""

from typing import NamedTuple

from autoscaler.errors import TargetUnavailable
from autoscaler.model import Decision, Intent, Written


class Counted(NamedTuple):
    """What a scale-in that is to be written is counted as, in units of size."""

    instances: int
    before: int
    """What of it an unfinished one before it was, whose place it takes."""


def already_counted(current: int, unfinished: Intent | None, counted: int) -> int:
    """How much of a scale-in from this size is counted already: `counted`, what its unfinished one is, or nothing.

    Where both were decided from one size, no more leaves by both together than by the one that removes more.
    """
    return counted if unfinished is not None and unfinished.decided_from == current else 0


def count(made: Decision, unfinished: Intent | None, counted: int) -> Counted | None:
    """What a decision is counted as when it is intended; None: it is no scale-in to be written.

    `unfinished`: the write that may still arrive; `counted`: what that one is counted as within the period.
    """
    change = made.change
    if made.dry_run or change is None or change.size >= change.decided_from:
        return None
    before = already_counted(change.decided_from, unfinished, counted)
    return Counted(max(change.decided_from - change.size, before), before)


def settle(made: Decision, counted: Counted) -> Counted:
    """What a concluded decision stays counted as, and what the unfinished one before it is again, at its own time.

    What was not written is given back. A write without an answer may still arrive.
    """
    change, outcome = made.change, made.outcome
    if isinstance(outcome, Written) and change is not None:
        return Counted(max(0, change.decided_from - outcome.size), 0)
    if outcome is None or isinstance(outcome, TargetUnavailable):
        return Counted(counted.instances, 0)
    return Counted(0, counted.before)
