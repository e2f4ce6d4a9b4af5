"""Deployments that reset a target's size, and its return to the size before.

A job file or a stack names a size. Whoever deploys it sets that size again, even if the autoscaler has scaled since.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from types import MappingProxyType
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import replace

from autoscaler.fields.types import Flag, Section
from autoscaler.hpa.controller import Goal
from autoscaler.hpa.stabilization import down_window
from autoscaler.model import (
    Autoscaler,
    Bounds,
    Deployment,
    Event,
    EventType,
    History,
    ManualControls,
    NoticeType,
    TargetState,
    arrived,
)
from autoscaler.quantity import format_duration
from autoscaler.rules.rule import SILENCE, Cycle, Hold, Rule, Said, Written
from autoscaler.rules.shown import Line, ShownDetail
from autoscaler.times import time_text

RECOVERING_SIZE: Final = "RecoveringSize"
"""Of a step and of the condition ScalingLimited: the size returns to what it was."""
SIZE_UNCONFIRMED: Final = "SizeUnconfirmed"
"""Of the condition AbleToScale: the next cycle tells whether a deployment reset the size."""
SIZE_RESET: Final = "SizeReset"
"""Of an event: a deployment reset the size."""
SIZE_RECOVERED: Final = "SizeRecovered"
"""Of an event: it has returned."""
RECOVERY_ENDED: Final = "RecoveryEnded"
"""Of an event: it has not, and is left."""
_MEANING: Final = "a deployment reset the size, which returns to what it was"
_OFF: Final = "recoverSize is false, or the autoscaler is a dry run now"


class SizeReset(Struct, frozen=True, gc=False):
    """A deployment lowered the size without an operator's request. The size returns to `goal`."""

    at: datetime
    """When it was recognized."""
    before: int
    after: int
    goal: int
    """The smaller of the size before and the highest recommendation of the scale-down window."""
    size: int
    """The size that was last seen or written. Another one is another client's."""
    manual: ManualControls
    """What operators had asked for by then. A later request ends the return."""
    remedy: str
    """How to deploy without setting the size."""
    free_since: datetime | None = None
    """Since when nothing has held a scale-out; None: something does."""


class DeploymentMemory(Struct, frozen=True, gc=False):
    """The last deployment of a target that set its size."""

    id: str
    size: int | None
    """The size that deployments set, as far as it is known. A deployment that sets another one means it."""
    remedy: str = ""
    """How to deploy without setting the size; empty: the last deployment did not set it."""
    reset: SizeReset | None = None
    """While the size returns."""
    uncertain: tuple[str, int] | None = None
    """A deployment that is not certain yet, and the goal at its first sight (0: the autoscaler's first cycle)."""


class ShownReset(ShownDetail):
    """What sets the size again."""

    reset_by: str | None = None
    """What sets the size at the next deployment, and the remedy; null: nothing is known to."""

    @classmethod
    def of_target(
        cls, rule: Any, memory: DeploymentMemory | None, state: TargetState | None, size: int | None
    ) -> "ShownReset":
        """Return what the back end knows, else what an earlier deployment has shown."""
        if state is not None and state.reset_by:
            return cls(reset_by=state.reset_by)
        if memory is None or not memory.remedy or memory.size in (None, size):
            return cls()
        last = f"the last deployment set the size to {memory.size}, and the next one may"
        return cls(reset_by=f"{last}; to prevent this, {memory.remedy}")

    def as_lines(self) -> Iterable[Line]:
        """Yield the line of the terminal."""
        if self.reset_by is not None:
            yield Line("Deployments", self.reset_by)


class Keys(Section):
    """The key of an autoscaler."""

    recover_size: Flag = True
    """false: a size that a deployment reset (Nomad, Docker Swarm) stays until the metrics change it."""


@dataclass(frozen=True, slots=True)
class RecoverSize(Rule):
    """Whether a size that a deployment reset returns. The rule watches deployments in any case."""

    name = "recover_size"
    keys = Keys
    memory = DeploymentMemory
    documents = (ShownReset,)
    notices = MappingProxyType({SIZE_RESET: NoticeType.RESET})
    follows_target = True
    by_default = True

    recovers: bool = True

    @classmethod
    def configured(cls, written: Written[Keys]) -> "RecoverSize | None":
        """Return the rule if it recovers nothing; else the default one counts."""
        return None if written.body.recover_size else cls(recovers=False)

    def simulated(self) -> "RecoverSize":
        """Return the rule that recovers nothing."""
        return RecoverSize(recovers=False)

    def follow(self, cycle: Cycle, memory: DeploymentMemory | None) -> Said:
        """Return what is known of the target's deployments."""
        state, found = cycle.state, None if cycle.state is None else cycle.state.deployment
        if memory is None and found is None:
            return SILENCE
        if state is None:
            return _said(memory)
        recovers = self.recovers and not cycle.scaler.dry_run  # a dry run writes nothing back
        return _followed(cycle, state, memory or DeploymentMemory("", None), recovers=recovers)

    def goal(self, cycle: Cycle, bounds: Bounds, said: Said, *, held: bool) -> tuple[Goal | None, Said]:
        """Return the size that the target returns to, within the bounds; None when that has ended.

        It ends when the size is reached, or a scale-down window after the last hold.
        """
        memory, state, now = said.memory, cycle.state, cycle.now
        if not isinstance(memory, DeploymentMemory) or state is None:
            return None, said
        if memory.reset is None or memory.uncertain is not None:  # the size may be another client's
            return None, said
        reset, window = memory.reset, down_window(cycle.scaler)
        goal = min(reset.goal, bounds.maximum.size)
        if state.replicas >= goal:
            return None, _over(said, memory, SIZE_RECOVERED, f"the size is {state.replicas} again")
        since = None if held else reset.free_since or now
        if since is not None and now - since > window:
            message = f"the size was not {goal} within {format_duration(window)} after the last hold, and is left"
            return None, _over(said, memory, RECOVERY_ENDED, message)
        reset = replace(reset, free_since=since)
        detail = f"{_what(reset)}. To prevent this, {reset.remedy}"
        wanted = Goal(max(goal, bounds.minimum.size), self.name, RECOVERING_SIZE, _MEANING, detail)
        return wanted, said._replace(memory=replace(memory, reset=reset))

    @staticmethod
    def after_write(memory: DeploymentMemory | None, size: int, at: datetime, *, answered: bool) -> object:
        """Return the memory after a write, so that the next cycle does not take the size for another client's."""
        if memory is None or memory.reset is None:
            return memory
        return replace(memory, reset=replace(memory.reset, size=size))


def _said(memory: DeploymentMemory | None, events: tuple[Event, ...] = (), holds: tuple[Hold, ...] = ()) -> Said:
    return Said(memory, events, holds=holds, size_reset=memory is not None and memory.reset is not None)


def _over(said: Said, memory: DeploymentMemory, reason: str, message: str) -> Said:
    """Return what is said when the return ends."""
    event = Event(EventType.NORMAL, reason, message)
    return said._replace(memory=replace(memory, reset=None), events=(*said.events, event))


def _followed(cycle: Cycle, state: TargetState, known: DeploymentMemory, *, recovers: bool) -> Said:
    """Return what is known of the target's deployments. `recovers`: a size that one resets is to return."""
    scaler, history, now, found = cycle.scaler, cycle.history, cycle.now, state.deployment
    new = None if found is None or found.id == known.id else found
    certain = new if new is not None and new.certain else None
    reset, size = known.reset, state.replicas
    events: tuple[Event, ...] = ()
    if reset is not None:
        reason = _reason_to_end(reset, known.size, certain, state, history, now) if recovers else _OFF
        if reason:
            message = f"{reason}; the return to {reset.goal} ends"
            events, reset = (Event(EventType.NORMAL, RECOVERY_ENDED, message),), None
        elif new is certain:
            reset = replace(reset, size=size)
    if new is None:
        return _said(replace(known, reset=reset, uncertain=None), events)
    before = _size_before(new, known.id)
    goal = _goal(scaler, history, new, before, now)
    # a deployment lowered the size to what deployments always set; a size of 0 switches scaling off
    lowered = not new.rollback and 0 < size < before and known.size in (None, size)
    resets = recovers and goal > size and lowered
    if certain is None:
        message = f"the size is {size} after {before}, and the next cycle tells whether a deployment has reset it"
        holds = (Hold(SIZE_UNCONFIRMED, message),) if resets or reset is not None else ()
        return _said(replace(known, reset=reset, uncertain=(new.id, goal)), events, holds)
    if resets:
        if reset is not None:  # a second deployment finds the size that the first one set
            reset = replace(reset, goal=max(goal, reset.goal))
        else:
            reset = SizeReset(now, before, size, goal, size, history.manual, new.remedy)
            message = f"{_what(reset)}; it returns to {goal} as soon as nothing holds it. To prevent this, {new.remedy}"
            events = (*events, Event(EventType.WARNING, SIZE_RESET, message))
    changed = size != before
    declared = size if changed and not new.rollback else known.size  # one that changes no size may have kept it
    return _said(DeploymentMemory(new.id, declared, new.remedy if changed else "", reset), events)


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
    memory = history.rules.find(RecoverSize.name, DeploymentMemory)
    sight = None if memory is None else memory.uncertain
    if sight is not None and sight[0] in (new.id, *[identity for identity, _ in new.earlier]):
        return sight[1]
    return min(before, _highest_recommendation(scaler, history, now, before))


def _reason_to_end(
    reset: SizeReset,
    declared: int | None,
    new: Deployment | None,
    state: TargetState,
    history: History,
    now: datetime,
) -> str:
    """Return what somebody did since that shows which size they want; empty: nothing."""
    if reset.manual.at(now) != history.manual.at(now):  # what ends by itself is no request
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
    if scaled and arrived(history.pending, state.replicas) is None:
        return f"something else set the size to {state.replicas}"
    return ""


def _highest_recommendation(scaler: Autoscaler, history: History, now: datetime, default: int) -> int:
    """Return the highest recommendation of the scale-down window; without one there, the newest."""
    cutoff = now - down_window(scaler)
    known = history.hpa.recommendations
    return max(
        [each.replicas for each in known if each.at > cutoff] or [each.replicas for each in known[-1:]] or [default]
    )


def _what(reset: SizeReset) -> str:
    return f"a deployment set the size from {reset.before} to {reset.after}, seen at {time_text(reset.at)}"
