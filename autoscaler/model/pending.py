"""Writes that were announced and may still arrive at the target.

A request without an answer (TargetUnavailable, or the daemon died) can arrive cycles later. One that was not sent
(TargetNotWritten) cannot. A write stays open until the target shows its size, a later write ends with a known size, or
it is older than every policy's period.
"""

from msgspec.structs import replace

from autoscaler.errors import TargetUnavailable
from autoscaler.model.decision import Decision
from autoscaler.model.history import PendingWrite
from autoscaler.model.spec import MAX_PERIOD
from autoscaler.model.target import Unchanged, Written


def arrived(pending: PendingWrite | None, size: int) -> PendingWrite | None:
    """Return the newest pending write of `size`, the size that the target shows; None: there is none."""
    return next((each for each in (() if pending is None else pending.and_earlier) if each.size == size), None)


def pending_after(pending: PendingWrite | None, decision: Decision) -> PendingWrite | None:
    """Return the writes that can still arrive after a decision with its outcome, the newest first; None: none.

    `pending`: those before the decision.
    """
    outcome = decision.outcome
    if isinstance(outcome, TargetUnavailable):
        return pending_with(pending, decision)
    if pending is None or isinstance(outcome, Written | Unchanged):
        return None
    if pending.at == decision.now and outcome is not None:  # announced in this cycle and not sent
        pending = pending.earlier
    return _open(pending, decision)


def pending_with(pending: PendingWrite | None, decision: Decision) -> PendingWrite | None:
    """Return the write that a decision is about to make, and with it the earlier writes that can still arrive."""
    change = decision.change
    if change is None:
        return pending
    earlier = _without(_open(pending, decision), change.size)
    return PendingWrite(change.size, change.decided_from, decision.now, decision.remembered.scaled_to_zero, earlier)


def _open(pending: PendingWrite | None, decision: Decision) -> PendingWrite | None:
    """Return the writes that can still arrive, given the size that the decision observed.

    Back ends apply absolute sizes in order, so a write that arrived supersedes those before it.
    """
    if pending is None or decision.current == pending.size or decision.now - pending.at >= MAX_PERIOD:
        return None
    return replace(pending, earlier=_open(pending.earlier, decision))


def _without(pending: PendingWrite | None, size: int) -> PendingWrite | None:
    """Return the writes of sizes other than `size`."""
    if pending is None:
        return None
    earlier = _without(pending.earlier, size)
    return earlier if pending.size == size else replace(pending, earlier=earlier)
