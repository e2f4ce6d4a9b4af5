"""Deployments that reset a target's size, and its return to the size before.

A job file or a stack names a size. Whoever deploys it sets that size again, even if the autoscaler has scaled since.
"""

from datetime import datetime
from typing import Final, NamedTuple

from msgspec.structs import replace

from autoscaler.decide.remember import arrived
from autoscaler.decide.scaling_rules import Bounds
from autoscaler.decide.stabilization import down_window
from autoscaler.model import (
    Autoscaler,
    Deployment,
    DeploymentMemory,
    Event,
    EventType,
    History,
    HoldReason,
    ManualControls,
    Reason,
    SizeReset,
    TargetState,
)
from autoscaler.quantity import format_duration

_OFF: Final = "recoverSize is false, or the autoscaler is a dry run now"


class Recovery(NamedTuple):
    """What an autoscaler knows of its target's deployments in this cycle."""

    memory: DeploymentMemory | None = None
    events: tuple[Event, ...] = ()
    goal: int = 0
    """The proposal beside those of the metrics; 0: there is none."""
    hold: HoldReason | None = None
    """Why nothing is written in this cycle. A write would hide who set the size."""

    @property
    def resets(self) -> bool:
        """Whether a deployment has reset the size, which has not returned yet."""
        return self.memory is not None and self.memory.reset is not None

    @property
    def detail(self) -> str:
        """What happened, and how to deploy without it."""
        reset = None if self.memory is None else self.memory.reset
        return "" if reset is None else f"{_what(reset)}. To prevent this, {reset.remedy}"

    def within(
        self, scaler: Autoscaler, state: TargetState, bounds: Bounds, now: datetime, *, held: bool
    ) -> "Recovery":
        """Return the recovery with its goal within the bounds, or without one when it has ended.

        It ends when the size is reached, or a scale-down window after the last hold. `held`: something prevents a
        scale-out now.
        """
        memory = self.memory
        if memory is None or memory.reset is None or memory.uncertain is not None:  # the size may be another client's
            return self
        reset, window = memory.reset, down_window(scaler)
        goal = min(reset.goal, bounds.maximum)
        if state.replicas >= goal:
            return self._ended(memory, Reason.SIZE_RECOVERED, f"the size is {state.replicas} again")
        since = None if held else reset.free_since or now
        if since is not None and now - since > window:
            message = f"the size was not {goal} within {format_duration(window)} after the last hold, and is left"
            return self._ended(memory, Reason.RECOVERY_ENDED, message)
        return self._replace(
            memory=replace(memory, reset=replace(reset, free_since=since)), goal=max(goal, bounds.minimum)
        )

    def _ended(self, memory: DeploymentMemory, reason: Reason, message: str) -> "Recovery":
        event = Event(EventType.NORMAL, reason, message)
        return Recovery(replace(memory, reset=None), (*self.events, event))


def follow_deployments(
    scaler: Autoscaler, state: TargetState, history: History, now: datetime, *, recovers: bool
) -> Recovery:
    """Return what is known of the target's deployments. `recovers`: a size that one resets is to return."""
    known, found = history.deployments, state.deployment
    if known is None and found is None:
        return Recovery()
    known = known or DeploymentMemory("", None)
    new = None if found is None or found.id == known.id else found
    certain = new if new is not None and new.certain else None
    reset, size = known.reset, state.replicas
    events: tuple[Event, ...] = ()
    if reset is not None:
        reason = _reason_to_end(reset, known.size, certain, state, history, now) if recovers else _OFF
        if reason:
            message = f"{reason}; the return to {reset.goal} ends"
            events, reset = (Event(EventType.NORMAL, Reason.RECOVERY_ENDED, message),), None
        elif new is certain:
            reset = replace(reset, size=size)
    if new is None:
        return Recovery(replace(known, reset=reset, uncertain=None), events)
    before = _size_before(new, known.id)
    goal = _goal(scaler, history, new, before, now)
    resets = recovers and goal > size and _resets(new, before, size, known.size)
    if certain is None:
        message = f"the size is {size} after {before}, and the next cycle tells whether a deployment has reset it"
        hold = HoldReason(Reason.SIZE_UNCONFIRMED, message) if resets or reset is not None else None
        return Recovery(replace(known, reset=reset, uncertain=(new.id, goal)), events, hold=hold)
    if resets:
        if reset is not None:  # a second deployment finds the size that the first one set
            reset = replace(reset, goal=max(goal, reset.goal))
        else:
            reset = SizeReset(now, before, size, goal, size, history.steering, new.remedy)
            message = f"{_what(reset)}; it returns to {goal} as soon as nothing holds it. To prevent this, {new.remedy}"
            events = (*events, Event(EventType.WARNING, Reason.SIZE_RESET, message))
    changed = size != before
    declared = size if changed and not new.rollback else known.size  # one that changes no size may have kept it
    return Recovery(DeploymentMemory(new.id, declared, new.remedy if changed else "", reset), events)


def with_own_size(memory: DeploymentMemory | None, size: int) -> DeploymentMemory | None:
    """Return the memory after a write, so that the next cycle does not take the size for another client's."""
    if memory is None or memory.reset is None:
        return memory
    return replace(memory, reset=replace(memory.reset, size=size))


def _size_before(new: Deployment, known: str) -> int:
    """Return the size before the first deployment after the known one. Several may fall between two cycles."""
    before = new.before
    for identity, size in new.earlier:
        if identity == known:
            break
        before = size
    return before


def _goal(scaler: Autoscaler, history: History, new: Deployment, before: int, now: datetime) -> int:
    """Return the size to return to, as of the deployment's first sight; 0: none, as in the first cycle of all.

    Later recommendations already measure the small size.
    """
    if history.at is None:
        return 0
    sight = None if history.deployments is None else history.deployments.uncertain
    if sight is not None and sight[0] in (new.id, *[identity for identity, _ in new.earlier]):
        return sight[1]
    return min(before, _highest_recommendation(scaler, history, now, before))


def _resets(new: Deployment, before: int, size: int, declared: int | None) -> bool:
    """Return whether a deployment lowered the size to what deployments always set. A size of 0 switches scaling off."""
    return not new.rollback and 0 < size < before and declared in (None, size)


def _reason_to_end(
    reset: SizeReset,
    declared: int | None,
    new: Deployment | None,
    state: TargetState,
    history: History,
    now: datetime,
) -> str:
    """Return what somebody did since that shows which size they want; empty: nothing."""
    if not _same(reset.steering, history.steering, now):
        return "an operator has paused, overridden or resumed the autoscaler"
    if not state.replicas:
        return "the size is 0"
    if new is not None and new.rollback:
        return "a rollback set the size"
    if new is not None and not new.before:
        return "the target was created anew, or started again"
    if new is not None:
        return f"a deployment set the size to {state.replicas}" if state.replicas not in (declared, new.before) else ""
    scaled = state.deployment is None and state.replicas != reset.size
    if scaled and arrived(history.unfinished, state.replicas) is None:
        return f"something else set the size to {state.replicas}"
    return ""


def _same(before: ManualControls, after: ManualControls, now: datetime) -> bool:
    """Return whether operators have asked for nothing since. What ends by itself is no request."""
    return after.at(now) == before.at(now)


def _highest_recommendation(scaler: Autoscaler, history: History, now: datetime, default: int) -> int:
    """Return the highest recommendation of the scale-down window; without one there, the newest."""
    cutoff = now - down_window(scaler)
    known = history.recommendations
    return max(
        [each.replicas for each in known if each.at > cutoff] or [each.replicas for each in known[-1:]] or [default]
    )


def _what(reset: SizeReset) -> str:
    at = reset.at.isoformat(timespec="seconds")
    return f"a deployment set the size from {reset.before} to {reset.after}, seen at {at}"
