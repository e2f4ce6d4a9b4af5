"""After the write: what its outcome makes of a decision, and what is remembered of it."""

from collections.abc import Sequence
from dataclasses import replace
from typing import TypeVar

from autoscaler.decide.conditions import Conditions
from autoscaler.errors import TargetError, TargetUnavailable
from autoscaler.model import (
    ConditionType,
    Conflict,
    Decision,
    Event,
    EventType,
    Held,
    History,
    Intent,
    Outcome,
    Proposed,
    Recommendation,
    ScaleChange,
    ScaleEvent,
    Slot,
    Step,
    Unchanged,
    Written,
)

_Entry = TypeVar("_Entry", Recommendation, ScaleEvent)
_ABLE = ConditionType.ABLE_TO_SCALE


def conclude(decision: Decision, outcome: Outcome | None) -> Decision:
    """The decision with its outcome's conditions, events and status. `outcome` None: there was nothing to write."""
    change = decision.change
    if change is None or outcome is None:
        return decision
    if isinstance(outcome, Written):
        return _written(decision, change, outcome)
    decision = replace(decision, outcome=outcome, scale_event=None)  # what did not happen is not remembered
    match outcome:
        case Proposed(size):
            step = Step("DryRun", change.decided_from, size, "a dry run writes nothing")
            return replace(decision, trace=(*decision.trace, step), status=replace(decision.status, desired=size))
        case Unchanged():
            step = Step("Unchanged", change.decided_from, change.size, "the target has that size already")
            return replace(
                decision, trace=(*decision.trace, step), status=replace(decision.status, desired=change.size)
            )
        case Held(hold):
            conditions = Conditions(decision.conditions, decision.now)
            conditions.set(_ABLE, False, hold.reason, hold.message)
            step = Step(hold.reason, change.size, change.decided_from, hold.message)
            return replace(
                decision,
                conditions=conditions.frozen(),
                trace=(*decision.trace, step),
                status=replace(decision.status, desired=change.size),
            )
        case Conflict(message):
            return _failed(decision, change, f"{message}; the next cycle decides anew")
        case TargetError():
            return _failed(decision, change, str(outcome))


def _written(decision: Decision, change: ScaleChange, outcome: Written) -> Decision:
    conditions = Conditions(decision.conditions, decision.now)
    conditions.set(_ABLE, True, "SucceededRescale", f"the target's size was set to {outcome.size}")
    if decision.scaled_to_zero is not None:
        zero = decision.scaled_to_zero
        message = "scaled to zero by the autoscaler" if zero else "not scaled to zero by the autoscaler"
        reason = "ScaledToZero" if zero else "NotScaledToZero"
        conditions.set(ConditionType.SCALED_TO_ZERO, zero, reason, message)
    own = () if decision.scale_event is None else (decision.scale_event,)
    rise = change.size > change.decided_from
    event = Event(EventType.NORMAL, "SuccessfulRescale", f"New size: {outcome.size}; reason: {change.reason}")
    return replace(
        decision,
        outcome=outcome,
        conditions=conditions.frozen(),
        events=(*decision.events, event),
        status=replace(decision.status, desired=outcome.size),
        scale_ups=(*decision.scale_ups, *own) if rise else decision.scale_ups,
        scale_downs=decision.scale_downs if rise else (*decision.scale_downs, *own),
        scale_event=None,
    )


def _failed(decision: Decision, change: ScaleChange, error: str) -> Decision:
    conditions = Conditions(decision.conditions, decision.now)
    conditions.set(_ABLE, False, "FailedUpdateScale", error)
    message = f"New size: {change.size}; reason: {change.reason}; error: {error}"
    return replace(
        decision,
        conditions=conditions.frozen(),
        events=(*decision.events, Event(EventType.WARNING, "FailedRescale", message)),
        trace=(*decision.trace, Step("FailedRescale", change.size, change.decided_from, error)),
        error=error,
    )


def remember(history: History, decision: Decision) -> History:
    """What the next cycle remembers after a concluded decision.

    An unfinished write stays so while the target cannot be read. One that ended with TargetUnavailable may have
    arrived or not: it is unfinished, too, until the target's size tells.
    """
    change, unfinished = decision.change, None
    if decision.current is None:
        unfinished = history.unfinished
    elif change is not None and isinstance(decision.outcome, TargetUnavailable):
        unfinished = Intent(change.size, change.decided_from, decision.now)
    return History(
        recommendations=apply(history.recommendations, decision.recommendations),
        scale_ups=apply(history.scale_ups, decision.scale_ups),
        scale_downs=apply(history.scale_downs, decision.scale_downs),
        conditions=decision.conditions,
        status=decision.status,
        unfinished=unfinished,
        steering=history.steering,
        at=decision.now,
    )


def apply(entries: tuple[_Entry, ...], slots: Sequence[Slot[_Entry]]) -> tuple[_Entry, ...]:
    """The entries with each slot's written over or appended."""
    if not slots:
        return entries
    changed = list(entries)
    for slot in slots:
        changed[slot.index : slot.index + 1] = [slot.entry]
    return tuple(changed)
