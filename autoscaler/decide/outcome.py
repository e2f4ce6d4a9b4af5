"""Applies the outcome of a write to a decision."""

from msgspec.structs import replace

from autoscaler.decide.brakes import with_own_write
from autoscaler.decide.conditions import Conditions
from autoscaler.decide.deployments import with_own_size
from autoscaler.decide.remember import may_arrive
from autoscaler.errors import TargetError
from autoscaler.model import (
    ConditionType,
    Conflict,
    Decision,
    Event,
    EventType,
    Held,
    Outcome,
    OwnSize,
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
    if isinstance(outcome, Written | Unchanged) or may_arrive(outcome):
        size = outcome.size if isinstance(outcome, Written) else change.size
        own = OwnSize(size, decision.now, answered=not isinstance(outcome, TargetError))
        brakes, deployments = with_own_write(decision.brake_memory, own), with_own_size(decision.deployments, size)
        decision = replace(decision, brake_memory=brakes, deployments=deployments)
    if isinstance(outcome, Written):
        return _written(decision, change, outcome)
    decision = replace(decision, outcome=outcome, scale_event=None)  # a rescale that did not happen is not remembered
    match outcome:
        case Proposed(size):
            step = Step(Reason.DRY_RUN, change.decided_from, size, "a dry run writes nothing")
            return replace(decision, trace=(*decision.trace, step), status=replace(decision.status, desired=size))
        case Unchanged():
            step = Step(Reason.UNCHANGED, change.decided_from, change.size, "the target has that size already")
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
            return _failed(decision, change, f"{message}; the next cycle decides again")
        case TargetError():
            return _failed(decision, change, str(outcome))


def _written(decision: Decision, change: ScaleChange, outcome: Written) -> Decision:
    """Record a rescale of the target, with its scale event.

    A back end may write another size than the decided one, as when some victims cannot be terminated. The target then
    has that size, so the scale event and ScaledToZero follow it.
    """
    size, planned = outcome.size, decision.scale_event
    part = "" if size == change.size else f" instead of {change.size}"
    message = f"New size: {size}{part}; reason: {change.reason}"
    event = Event(EventType.NORMAL, Reason.SUCCESSFUL_RESCALE, message, change.direction)
    conditions = Conditions(decision.conditions, decision.now)
    conditions.set(_ABLE, True, Reason.SUCCEEDED_RESCALE, f"the target's size was set to {size}{part}")
    if decision.scaled_to_zero is not None:
        conditions.set_scaled_to_zero(zero=size == 0 and (decision.scaled_to_zero or change.size > 0))
    moved = size - change.decided_from
    own = () if planned is None or moved == 0 else (replace(planned, change=abs(moved)),)
    rise = moved > 0
    return replace(
        decision,
        outcome=outcome,
        conditions=conditions.frozen(),
        events=(*decision.events, event),
        status=replace(decision.status, desired=size),
        scale_ups=(*decision.scale_ups, *own) if rise else decision.scale_ups,
        scale_downs=decision.scale_downs if rise else (*decision.scale_downs, *own),
        scale_event=None,
    )


def _failed(decision: Decision, change: ScaleChange, error: str) -> Decision:
    conditions = Conditions(decision.conditions, decision.now)
    conditions.set(_ABLE, False, Reason.FAILED_UPDATE_SCALE, error)
    message = f"New size: {change.size}; reason: {change.reason}; error: {error}"
    return replace(
        decision,
        conditions=conditions.frozen(),
        events=(*decision.events, Event(EventType.WARNING, Reason.FAILED_RESCALE, message, change.direction)),
        trace=(*decision.trace, Step(Reason.FAILED_RESCALE, change.size, change.decided_from, error)),
        error=error,
    )
