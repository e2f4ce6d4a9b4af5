"""Counts a scale-in against its connection's removal budget, before and after the write."""

from typing import NamedTuple

from autoscaler.errors import TargetUnavailable
from autoscaler.model import Decision, Direction, PendingWrite, Written


class Counted(NamedTuple):
    """What a scale-in counts as, in units of size."""

    instances: int
    before: int
    """The part that an earlier pending scale-in, which this one replaces, already counted as."""


def already_counted(current: int, pending: PendingWrite | None, counted: int) -> int:
    """Return how much of a scale-in from `current` is already counted, given what its pending one counts as.

    Two scale-ins decided from the same size remove no more together than the larger one.
    """
    return counted if pending is not None and pending.decided_from == current else 0


def count(made: Decision, pending: PendingWrite | None, counted: int) -> Counted | None:
    """Return what an intended decision counts as, or None if it writes no scale-in.

    `pending` is the write that can still arrive, and `counted` what it counts as within the period.
    """
    change = made.change
    if made.dry_run or change is None or change.direction is Direction.OUT:
        return None
    before = already_counted(change.decided_from, pending, counted)
    return Counted(max(change.decided_from - change.size, before), before)


def settle(made: Decision, counted: Counted) -> Counted:
    """Return what a concluded decision counts as, and what the pending one before it counts as again.

    Instances that were not removed return to the budget. A write without an answer still counts.
    """
    change, outcome = made.change, made.outcome
    if isinstance(outcome, Written) and change is not None:
        return Counted(max(0, change.decided_from - outcome.size), 0)
    if outcome is None or isinstance(outcome, TargetUnavailable):
        return Counted(counted.instances, 0)
    return Counted(0, counted.before)
