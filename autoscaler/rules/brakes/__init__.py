"""Brakes keep a target's size where it is while something is wrong with the target.

A brake only prevents changes that metrics ask for. A size outside the bounds still returns inside them, but not to a
schedule's maximum: it falls to that one as metrics ask. `unfulfilled` and `loss` act on a share of the instances, and
on at least MIN_MISSING. Their rule comes from Cluster Autoscaler's --max-total-unready-percentage and
--ok-total-unready-count, the deadline of `unfulfilled` from a Deployment's progressDeadlineSeconds.
"""

import dataclasses
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Annotated, Any, Final, Literal, TypeAlias, TypeVar

from msgspec import Struct
from msgspec.structs import replace
from pydantic import BeforeValidator, Tag

from autoscaler.fields.part import Part
from autoscaler.fields.types import Flag, Section, two_forms
from autoscaler.hpa.proposals import Measured
from autoscaler.hpa.stabilization import down_window
from autoscaler.model import Direction, Event, EventType
from autoscaler.rules.brakes import after_outage, loss, outside_change, unfulfilled
from autoscaler.rules.brakes.after_outage import Outage
from autoscaler.rules.brakes.common import MIN_MISSING, Brake
from autoscaler.rules.brakes.loss import InstanceLoss, LossBrake, LossMemory
from autoscaler.rules.brakes.outside_change import OutsideChange, OutsideChangeBrake, OwnSize, SizeMemory
from autoscaler.rules.brakes.shown import ShownActiveBrakes, ShownBrakes
from autoscaler.rules.brakes.unfulfilled import Shortfall, UnfulfilledBrake
from autoscaler.rules.rule import Cycle, Hold, Rule, Said, Written

__all__ = [
    "ENDED",
    "MIN_MISSING",
    "ActiveBrake",
    "Brake",
    "BrakeMemory",
    "Brakes",
    "InstanceLoss",
    "LossBrake",
    "Outage",
    "OutsideChange",
    "OutsideChangeBrake",
    "OwnSize",
    "Shortfall",
    "UnfulfilledBrake",
    "active_brakes",
]


ENDED: Final = "BrakeEnded"
"""Reason of an event."""


def _not_true(value: Any) -> Any:
    if value is True:
        raise ValueError("true is not enough; write {} for the defaults, or false for none")
    return value


_BrakeT = TypeVar("_BrakeT", bound=Part)
_OrFalse: TypeAlias = Annotated[
    Annotated[_BrakeT, Tag("a brake")] | Annotated[Literal[False], Tag("none")],
    two_forms(bool, "none", "a brake"),
    BeforeValidator(_not_true),
]


class BrakesKeys(Section):
    """Stop scaling while something is wrong with the target. Each brake is off by default."""

    unfulfilled: _OrFalse[UnfulfilledBrake] | None = None
    """Stops scale-out while many requested instances do not start; false: off, even if the controller sets it."""
    loss: _OrFalse[LossBrake] | None = None
    """Stops scale-in after many instances disappeared at once; false: off, even if the controller sets it."""
    outside_change: _OrFalse[OutsideChangeBrake] | None = None
    """Keeps a size that another program or person set; false: off, even if the controller sets it."""
    after_outage: Flag | None = None
    """Stops scale-in after all metrics had no value for a whole scaleDown window, until one had a value for as long;
    false: off, even if the controller sets it."""


class Keys(Section):
    """The key of an autoscaler."""

    brakes: BrakesKeys = BrakesKeys()
    """Stop scaling while something is wrong with the target. Default: the controller's brakes."""


class ControllerKeys(Section):
    """The key of the controller."""

    brakes: BrakesKeys = BrakesKeys()
    """The default brakes of every autoscaler."""


class ActiveBrake(Struct, frozen=True, gc=False):
    """A brake that is on, whether or not the metrics ask for what it prevents."""

    brake: Brake
    reason: str
    """Of the condition AbleToScale where it prevents a change."""
    message: str
    direction: Direction = Direction.BOTH
    """Of the changes that it prevents."""


class BrakeMemory(Struct, frozen=True, gc=False):
    """What an autoscaler's brakes remember. Without a brake, what belongs to it is None or empty."""

    shortfall: Shortfall | None = None
    running: int | None = None
    """Units that ran in the last cycle, of the size that was asked for."""
    heaviest: int = 1
    """The largest weight among their instances."""
    loss: InstanceLoss | None = None
    """While the brake is on."""
    size: int | None = None
    """The size that was last seen."""
    own: tuple[OwnSize, ...] = ()
    """In order of time."""
    outside: OutsideChange | None = None
    """While the brake is on."""
    outage: Outage | None = None
    active: tuple[ActiveBrake, ...] = ()
    """The configured brakes, in the order in which they give the reason for a hold."""


_NOTHING: Final = BrakeMemory()


@dataclass(frozen=True, slots=True)
class Brakes(Rule):
    """An autoscaler's brakes; None, or False: it does not have that one."""

    name = "brakes"
    keys = Keys
    controller_keys = ControllerKeys
    memory = BrakeMemory
    documents = (ShownBrakes, ShownActiveBrakes)
    follows_target = True

    unfulfilled: UnfulfilledBrake | None = None
    loss: LossBrake | None = None
    outside_change: OutsideChangeBrake | None = None
    after_outage: bool = False

    @classmethod
    def configured(cls, written: Written[Keys]) -> "Brakes | None":
        """Return the brakes; the controller's are the defaults. None: there are none."""
        defaults = dict(written.controller.brakes)
        chosen = {name: defaults[name] if own is None else own for name, own in written.body.brakes}
        outage = bool(chosen.pop("after_outage"))
        made = cls(after_outage=outage, **{name: brake or None for name, brake in chosen.items()})
        return made if made.all else None

    @property
    def all(self) -> tuple[Brake, ...]:
        """The brakes that are on, in the order in which they give the reason for a hold."""
        return tuple([brake for brake, _ in self.texts])

    @property
    def texts(self) -> Iterable[tuple[Brake, str]]:
        """The effect of each in words, in the same order."""
        for brake, rule in (
            (Brake.UNFULFILLED, self.unfulfilled),
            (Brake.LOSS, self.loss),
            (Brake.OUTSIDE_CHANGE, self.outside_change),
        ):
            if rule is not None:
                yield brake, rule.text
        if self.after_outage:
            yield Brake.AFTER_OUTAGE, after_outage.TEXT

    @property
    def times(self) -> Iterable[timedelta]:
        """How long each of them waits or holds, in no order."""
        if self.unfulfilled is not None:
            yield self.unfulfilled.progress_deadline
        if self.loss is not None:
            yield self.loss.hold
        if self.outside_change is not None:
            yield self.outside_change.hold

    def simulated(self) -> "Brakes":
        """Return the brakes without outsideChange."""
        return dataclasses.replace(self, outside_change=None)

    def follow(self, cycle: Cycle, memory: BrakeMemory | None) -> Said:
        """Return what the target's state starts, keeps on or ends."""
        before, state, now = memory or _NOTHING, cycle.state, cycle.now
        shortfall, losses, sizes = None, LossMemory(), SizeMemory()
        if self.unfulfilled is not None:
            shortfall = unfulfilled.follow(self.unfulfilled, before.shortfall, state, now)
        if self.loss is not None:
            losses = loss.follow(self.loss, LossMemory(before.running, before.heaviest, before.loss), state, now)
        if self.outside_change is not None and not cycle.scaler.dry_run:  # its size is always another's
            sizes = outside_change.follow(
                self.outside_change,
                SizeMemory(before.size, before.own, before.outside),
                state,
                cycle.history.pending,
                now,
                size_reset=cycle.size_reset,
            )
        outage = before.outage if self.after_outage else None
        return self._said(cycle, BrakeMemory(shortfall, *losses, *sizes, outage))

    def outcomes(self, cycle: Cycle, measured: Sequence[Measured], said: Said) -> tuple[Sequence[Measured], Said]:
        """Return the outcomes as they are, with what an outage of all metrics starts, keeps on or ends."""
        memory = said.memory
        if not self.after_outage or not isinstance(memory, BrakeMemory):
            return measured, said
        fails = all(each.outcome.failed for each in measured)
        window = down_window(cycle.scaler)
        outage = after_outage.follow(memory.outage, window, cycle.history.at, cycle.now, fails=fails)
        return measured, self._said(cycle, replace(memory, outage=outage))

    def _said(self, cycle: Cycle, memory: BrakeMemory) -> Said:
        active = tuple(self._active(cycle, memory))
        before = cycle.history.rules.find(self.name, BrakeMemory) or _NOTHING
        memory = replace(memory, active=active)
        holds = tuple([Hold(each.reason, each.message, each.direction, spares_bounds=True) for each in active])
        return Said(memory, tuple(_events(before, memory)), holds=holds)

    def _active(self, cycle: Cycle, memory: BrakeMemory) -> Iterator[ActiveBrake]:
        short, lost, outside, outage = memory.shortfall, memory.loss, memory.outside, memory.outage
        if short is not None and short.stalled:
            message = unfulfilled.message(short)
            yield ActiveBrake(Brake.UNFULFILLED, unfulfilled.REASON, message, Direction.OUT)
        if self.loss is not None and lost is not None:
            message = loss.message(self.loss, lost)
            yield ActiveBrake(Brake.LOSS, loss.REASON, message, Direction.IN)
        if self.outside_change is not None and outside is not None:
            message = outside_change.message(self.outside_change, outside)
            yield ActiveBrake(Brake.OUTSIDE_CHANGE, outside_change.REASON, message, outside.prevents)
        if outage is not None and outage.long:
            message = after_outage.message(outage, down_window(cycle.scaler))
            yield ActiveBrake(Brake.AFTER_OUTAGE, after_outage.REASON, message, Direction.IN)

    @staticmethod
    def after_write(memory: BrakeMemory | None, size: int, at: datetime, *, answered: bool) -> BrakeMemory | None:
        """Return the memory after a write, so that the next cycle recognizes the size as the autoscaler's own."""
        if memory is None or memory.size is None:  # the brake outsideChange is off
            return memory
        return replace(memory, own=outside_change.after_write(memory.own, OwnSize(size, at, answered)))

    @staticmethod
    def shown(memory: BrakeMemory) -> object:
        """Return which brakes are on."""
        return [each.brake for each in memory.active]

    @staticmethod
    def needs_operator(memory: BrakeMemory) -> bool:
        """Return whether one is on."""
        return bool(memory.active)

    @staticmethod
    def ended(memory: BrakeMemory) -> Iterable[Event]:
        """Return an event for each brake that was on."""
        return _events(memory, _NOTHING)


def active_brakes(memories: Mapping[str, object]) -> tuple[ActiveBrake, ...]:
    """Return the brakes that are on, from what an autoscaler's rules remember."""
    memory = memories.get(Brakes.name)
    return memory.active if isinstance(memory, BrakeMemory) else ()


_ENDS: Final[Mapping[Brake, str]] = {
    Brake.UNFULFILLED: unfulfilled.END,
    Brake.LOSS: loss.END,
    Brake.OUTSIDE_CHANGE: outside_change.END,
    Brake.AFTER_OUTAGE: after_outage.END,
}


def _events(before: BrakeMemory, after: BrakeMemory) -> Iterator[Event]:
    """Yield an event for each brake that started, restarted with a new cause, or ended."""
    had, has = _causes(before), _causes(after)
    for each in after.active:
        if had.get(each.brake) != has[each.brake]:
            yield Event(EventType.WARNING, each.reason, each.message)
    for ended in had:
        if ended not in has:
            yield Event(EventType.NORMAL, ENDED, _ENDS[ended])


def _causes(memory: BrakeMemory) -> dict[Brake, object]:
    """Return the brakes that are on, each with its cause."""
    found = dict[Brake, object]()
    if memory.shortfall is not None and memory.shortfall.stalled:
        found[Brake.UNFULFILLED] = True
    if memory.loss is not None:
        found[Brake.LOSS] = memory.loss
    if memory.outside is not None:
        found[Brake.OUTSIDE_CHANGE] = memory.outside
    if memory.outage is not None and memory.outage.long:
        found[Brake.AFTER_OUTAGE] = memory.outage.since
    return found
