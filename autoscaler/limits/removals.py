"""Counts a scale-in against its connection's removal budget, before and after the write."""

from typing import NamedTuple

from autoscaler.errors import TargetUnavailable
from autoscaler.model import Decision, Direction, PendingWrite, Written


class Counted(NamedTuple):
    """How many instances a scale-in counts against the budget, in units of size."""

    instances: int
    before: int
    """How many of them an earlier pending scale-in, which this one replaces, has counted already."""


def already_counted(current: int, pending: PendingWrite | None, counted: int) -> int:
    """Return how many instances of a scale-in from `current` the pending write has counted already.

    Two scale-ins from the same size remove no more together than the larger one. `counted`: the pending write's.
    """
    return counted if pending is not None and pending.decided_from == current else 0


def count(made: Decision, pending: PendingWrite | None, counted: int) -> Counted | None:
    """Return the instances that a decision counts before its write; None if it writes no scale-in.

    `pending`: the write that can still arrive. `counted`: the instances that it counts within the period.
    """
    change = made.change
    if made.dry_run or change is None or change.direction is Direction.OUT:
        return None
    before = already_counted(change.decided_from, pending, counted)
    return Counted(max(change.decided_from - change.size, before), before)


def settle(made: Decision, counted: Counted) -> Counted:
    """Return the instances that a decision counts after its write: `before` is what the pending one counts again.

    Instances that were not removed return to the budget. A write without an answer still counts.
    """
    change, outcome = made.change, made.outcome
    if isinstance(outcome, Written) and change is not None:
        return Counted(max(0, change.decided_from - outcome.size), 0)
    if outcome is None or isinstance(outcome, TargetUnavailable):
        return Counted(counted.instances, 0)
    return Counted(0, counted.before)
