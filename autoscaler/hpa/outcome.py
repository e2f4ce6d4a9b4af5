"""Applies the outcome of a write to a decision."""

from msgspec.structs import replace

from autoscaler.errors import TargetError
from autoscaler.hpa.conditions import Conditions
from autoscaler.model import (
    HPA,
    TARGET,
    ConditionType,
    Conflict,
    Decision,
    Event,
    EventType,
    Held,
    Outcome,
    Proposed,
    Reason,
    ScaleChange,
    Step,
    Unchanged,
    Written,
)

_ABLE = ConditionType.ABLE_TO_SCALE


def apply_outcome(decision: Decision, outcome: Outcome | None) -> Decision:
    """Return the decision with the outcome's conditions, events and status.

    `outcome` is None if nothing was written.
    """
    change = decision.change
    if change is None or outcome is None:
        return decision
    if isinstance(outcome, Written):
        return _written(decision, change, outcome)
    remembered = replace(decision.remembered, scale_event=None)  # a rescale that did not happen is not remembered
    decision = replace(decision, outcome=outcome, remembered=remembered)
    match outcome:
        case Proposed(size):
            step = Step(HPA, Reason.DRY_RUN, change.decided_from, size, "a dry run writes nothing")
            return _ended(decision, step, size)
        case Unchanged():
            step = Step(TARGET, Reason.UNCHANGED, change.decided_from, change.size, "the target has that size already")
            return _ended(decision, step, change.size)
        case Held(hold):
            conditions = Conditions(decision.conditions, decision.now)
            conditions.set(_ABLE, False, hold.reason, hold.message)
            step = Step(TARGET, hold.reason, change.size, change.decided_from, hold.message)
            return _ended(replace(decision, conditions=conditions.frozen()), step, change.size)
        case Conflict(message):
            return _failed(decision, change, f"{message}; the next cycle decides again")
        case TargetError():
            return _failed(decision, change, str(outcome))


def _written(decision: Decision, change: ScaleChange, outcome: Written) -> Decision:
    """Record a rescale of the target, with its scale event.

    A back end may write another size than the decided one, as when some victims cannot be terminated. The target then
    has that size, so the scale event and ScaledToZero follow it.
    """
    size, known = outcome.size, decision.remembered
    part = "" if size == change.size else f" instead of {change.size}"
    message = f"New size: {size}{part}; reason: {change.reason}"
    event = Event(EventType.NORMAL, Reason.SUCCESSFUL_RESCALE, message, change.direction)
    conditions = Conditions(decision.conditions, decision.now)
    conditions.set(_ABLE, True, Reason.SUCCEEDED_RESCALE, f"the target's size was set to {size}{part}")
    if known.scaled_to_zero is not None:
        conditions.set_scaled_to_zero(zero=size == 0 and (known.scaled_to_zero or change.size > 0))
    moved = size - change.decided_from
    own = () if known.scale_event is None or moved == 0 else (replace(known.scale_event, change=abs(moved)),)
    rise = moved > 0
    return replace(
        decision,
        outcome=outcome,
        conditions=conditions.frozen(),
        events=(*decision.events, event),
        remembered=replace(
            known,
            status=replace(known.status, desired=size),
            scale_ups=(*known.scale_ups, *own) if rise else known.scale_ups,
            scale_downs=known.scale_downs if rise else (*known.scale_downs, *own),
            scale_event=None,
        ),
    )


def _ended(decision: Decision, step: Step, desired: int) -> Decision:
    known = decision.remembered
    remembered = replace(known, status=replace(known.status, desired=desired))
    return replace(decision, trace=(*decision.trace, step), remembered=remembered)


def _failed(decision: Decision, change: ScaleChange, error: str) -> Decision:
    conditions = Conditions(decision.conditions, decision.now)
    conditions.set(_ABLE, False, Reason.FAILED_UPDATE_SCALE, error)
    message = f"New size: {change.size}; reason: {change.reason}; error: {error}"
    return replace(
        decision,
        conditions=conditions.frozen(),
        events=(*decision.events, Event(EventType.WARNING, Reason.FAILED_RESCALE, message, change.direction)),
        trace=(*decision.trace, Step(TARGET, Reason.FAILED_RESCALE, change.size, change.decided_from, error)),
        error=error,
    )
