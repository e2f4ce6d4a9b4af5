"""The brake `outsideChange`: somebody else set the size, so it stays for a while."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final, NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from autoscaler.fields.part import Part
from autoscaler.fields.types import PositiveDuration
from autoscaler.model import MAX_PERIOD, Direction, PendingWrite, TargetState
from autoscaler.quantity import format_duration
from autoscaler.rules.brakes.common import time_text

REASON: Final = "OutsideChange"
"""Of the condition AbleToScale and of events."""
END: Final = "the brake outsideChange has ended: the size may change again"
"""Message of the event when it ends."""


@dataclass(frozen=True, slots=True)
class OutsideChangeBrake(Part):
    """Keeps a size that another program or person set."""

    hold: PositiveDuration = timedelta(minutes=10)
    """How long the size is kept, within minReplicas and maxReplicas."""

    @property
    def text(self) -> str:
        """Return its effect in words."""
        return f"a size that another program or person set is kept for {format_duration(self.hold)}"


class OutsideChange(Struct, frozen=True, gc=False):
    """Somebody else set the size."""

    at: datetime
    """When it was first seen."""
    before: int
    after: int
    reset: bool = False
    """Whether it was a deployment that reset the size, which may grow."""

    @property
    def prevents(self) -> Direction:
        """The direction of the changes that the brake prevents."""
        return Direction.IN if self.reset else Direction.BOTH


class OwnSize(Struct, frozen=True, gc=False):
    """A size that the autoscaler asked the back end for, and that the target has not shown yet."""

    size: int
    at: datetime
    answered: bool
    """Whether the back end accepted it; false: the request had no answer and may still arrive."""


class SizeMemory(NamedTuple):
    """What the brake remembers, as in BrakeMemory."""

    size: int | None = None
    own: tuple[OwnSize, ...] = ()
    outside: OutsideChange | None = None


def follow(
    rule: OutsideChangeBrake,
    before: SizeMemory,
    state: TargetState | None,
    pending: PendingWrite | None,
    now: datetime,
    *,
    size_reset: bool,
) -> SizeMemory:
    """Return what the brake remembers after the target's state.

    `before`: what it remembered. `size_reset`: a deployment has reset the size, which has not returned yet.
    """
    after = _seen(rule, before, state, pending, now)
    if size_reset and after.outside is not None:
        return after._replace(outside=replace(after.outside, reset=True))
    return after


def _seen(
    rule: OutsideChangeBrake,
    before: SizeMemory,
    state: TargetState | None,
    pending: PendingWrite | None,
    now: datetime,
) -> SizeMemory:
    outside = before.outside if before.outside is not None and now - before.outside.at < rule.hold else None
    own = _own_sizes(before.own, pending, now)
    if state is None:
        return SizeMemory(before.size, own, outside)
    size, known = state.replicas, before.size
    if known is not None and size != known:
        place = next((place for place, each in enumerate(own) if each.size == size), None)
        if place is None:
            outside = OutsideChange(now, known, size)
        else:  # a write accepted before this one is superseded; a write without an answer can still arrive
            own = (*[each for each in own[:place] if not each.answered], *own[place + 1 :])
    return SizeMemory(size, own, outside)


def _own_sizes(known: Sequence[OwnSize], pending: PendingWrite | None, now: datetime) -> tuple[OwnSize, ...]:
    """Return the requested sizes not yet seen, including those of pending writes of earlier owners."""
    found = [each for each in known if now - each.at < MAX_PERIOD]
    for one in () if pending is None else reversed(pending.and_earlier):
        if all((each.size, each.at) != (one.size, one.at) for each in found):
            found.append(OwnSize(one.size, one.at, answered=False))
    return tuple(found)


def after_write(known: Sequence[OwnSize], written: OwnSize) -> tuple[OwnSize, ...]:
    """Return the requested sizes not yet seen after another write."""
    others = [each for each in known if (each.size, each.answered) != (written.size, written.answered)]
    return (*others, written)


def message(rule: OutsideChangeBrake, outside: OutsideChange) -> str:
    """Return why the brake is on."""
    stays = "it does not fall" if outside.reset else "within the bounds it stays as it is"
    return (
        f"something else set the size from {outside.before} to {outside.after}, seen at {time_text(outside.at)}; "
        f"{stays} until {time_text(outside.at + rule.hold)}"
    )
