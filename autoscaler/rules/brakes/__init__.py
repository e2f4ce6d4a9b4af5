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

from autoscaler.document import Document
from autoscaler.fields.types import Flag, Section, two_forms
from autoscaler.hpa.proposals import Measured
from autoscaler.model import Direction, Event, EventType
from autoscaler.rules.brakes.after_outage import AfterOutageBrake, Outage
from autoscaler.rules.brakes.common import Brake, BrakeRule
from autoscaler.rules.brakes.loss import InstanceLoss, LossBrake
from autoscaler.rules.brakes.outside_change import OutsideChange, OutsideChangeBrake, OwnSize, after_write
from autoscaler.rules.brakes.unfulfilled import Shortfall, UnfulfilledBrake
from autoscaler.rules.rule import Cycle, Hold, Rule, Said, Written
from autoscaler.rules.shown import Line, Remark, ShownMemory, ShownSettings

ENDED: Final = "BrakeEnded"
"""Reason of an event."""


def _not_true(value: Any) -> Any:
    if value is True:
        raise ValueError("true is not enough; write {} for the defaults, or false for none")
    return value


_BrakeT = TypeVar("_BrakeT", bound=BrakeRule)
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
    """The brakes that are on, in the order in which they give the reason for a hold."""


_NOTHING: Final = BrakeMemory()


class BrakeDocument(Document):
    """A configured brake."""

    brake: Brake
    text: str
    """Its effect, such as `no scale-in for 5m after 30 % or more of the instances were gone at once`."""


class ActiveBrakeDocument(Document):
    """A brake that is on, even if the metrics do not ask for the change that it prevents."""

    brake: Brake
    reason: str
    """The reason of AbleToScale if the brake prevents a change."""
    message: str


class ShownBrakes(ShownSettings):
    """The configured brakes."""

    brakes: tuple[BrakeDocument, ...] = ()

    @classmethod
    def of_rule(cls, rule: "Brakes") -> "ShownBrakes":
        """Return the configured ones."""
        return cls(brakes=tuple(map(BrakeDocument.of, rule.all)))

    def as_lines(self) -> Iterable[Line]:
        """Yield the effect of each."""
        for each in self.brakes:
            yield Line(f"Brake {each.brake}", each.text)


class ShownActiveBrakes(ShownMemory):
    """The brakes that are on."""

    brakes: tuple[ActiveBrakeDocument, ...] = ()
    """The brakes that were on, even if the metrics did not ask for the change that they prevent."""

    @classmethod
    def of_memory(cls, memory: BrakeMemory) -> "ShownActiveBrakes":
        """Return those that are on."""
        return cls(brakes=tuple(map(ActiveBrakeDocument.of, memory.active)))

    def remarks(self) -> Iterable[Remark]:
        """Yield each with what turned it on."""
        for each in self.brakes:
            yield Remark(
                Line("Brake on", f"{each.brake}: {each.message}"),
                now=f"The brake {each.brake} is on: {each.message}",
                past=f"The brake {each.brake} was on, and had no change to prevent: {each.message}",
                message=each.message,
                urgent=True,
            )


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
    def all(self) -> tuple[BrakeRule, ...]:
        """The configured brakes, in the order in which they give the reason for a hold."""
        own = (self.unfulfilled, self.loss, self.outside_change, AfterOutageBrake() if self.after_outage else None)
        return tuple([each for each in own if each is not None])

    @property
    def times(self) -> Iterable[timedelta]:
        """How long each of them waits or holds, in no order."""
        return [span for each in self.all for span in each.times]

    def simulated(self) -> "Brakes":
        """Return the brakes without outsideChange."""
        return dataclasses.replace(self, outside_change=None)

    def follow(self, cycle: Cycle, memory: BrakeMemory | None) -> Said:
        """Return what the target's state starts, keeps on or ends."""
        found = dict[str, Any]()
        for each in self.all:
            found |= each.follow(memory or _NOTHING, cycle)
        return self._said(cycle, BrakeMemory(**found))

    def outcomes(self, cycle: Cycle, measured: Sequence[Measured], said: Said) -> tuple[Sequence[Measured], Said]:
        """Return the outcomes as they are, with what an outage of all metrics starts, keeps on or ends."""
        memory = said.memory
        if not self.after_outage or not isinstance(memory, BrakeMemory):
            return measured, said
        fails = all(each.outcome.failed for each in measured)
        outage = AfterOutageBrake().measured(memory.outage, cycle, fails=fails)
        return measured, self._said(cycle, replace(memory, outage=outage))

    def _said(self, cycle: Cycle, memory: BrakeMemory) -> Said:
        active = list[ActiveBrake]()
        for each in self.all:
            if (cause := each.cause(memory)) is not None:
                active.append(ActiveBrake(each.brake, each.reason, *each.said(cause, cycle)))
        before = cycle.history.rules.find(self.name, BrakeMemory) or _NOTHING
        memory = replace(memory, active=tuple(active))
        holds = tuple([Hold(each.reason, each.message, each.direction, spares_bounds=True) for each in active])
        return Said(memory, tuple(_events(before, memory)), holds=holds)

    @staticmethod
    def after_write(memory: BrakeMemory | None, size: int, at: datetime, *, answered: bool) -> BrakeMemory | None:
        """Return the memory after a write, so that the next cycle recognizes the size as the autoscaler's own."""
        if memory is None or memory.size is None:  # the brake outsideChange is off
            return memory
        return replace(memory, own=after_write(memory.own, OwnSize(size, at, answered)))

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


_KINDS: Final[Mapping[Brake, type[BrakeRule]]] = {
    each.brake: each for each in (UnfulfilledBrake, LossBrake, OutsideChangeBrake, AfterOutageBrake)
}


def _events(before: BrakeMemory, after: BrakeMemory) -> Iterator[Event]:
    """Yield an event for each brake that started, restarted with a new cause, or ended."""
    for each in after.active:
        kind = _KINDS[each.brake]
        had = kind.cause(before)
        if had is None or not kind.is_same(had, kind.cause(after)):
            yield Event(EventType.WARNING, each.reason, each.message)
    for kind in _KINDS.values():
        if kind.cause(before) is not None and kind.cause(after) is None:
            yield Event(EventType.NORMAL, ENDED, kind.end)
