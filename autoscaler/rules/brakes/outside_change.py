"""The brake `outsideChange`: somebody else set the size, so it stays for a while."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from autoscaler.fields.types import PositiveDuration
from autoscaler.model import MAX_PERIOD, Direction, PendingWrite
from autoscaler.quantity import format_duration
from autoscaler.rules.brakes.common import Brake, BrakeRule
from autoscaler.rules.rule import Cycle
from autoscaler.times import time_text

if TYPE_CHECKING:
    from autoscaler.rules.brakes import BrakeMemory


class OutsideChange(Struct, frozen=True, gc=False):
    """Somebody else set the size."""

    at: datetime
    """When it was first seen."""
    before: int
    after: int
    reset: bool = False
    """Whether it was a deployment that reset the size, which may grow."""


class OwnSize(Struct, frozen=True, gc=False):
    """A size that the autoscaler asked the back end for, and that the target has not shown yet."""

    size: int
    at: datetime
    answered: bool
    """Whether the back end accepted it; false: the request had no answer and may still arrive."""


@dataclass(frozen=True, slots=True)
class OutsideChangeBrake(BrakeRule):
    """Keeps a size that another program or person set."""

    brake = Brake.OUTSIDE_CHANGE
    reason = "OutsideChange"
    end = "the brake outsideChange has ended: the size may change again"

    hold: PositiveDuration = timedelta(minutes=10)
    """How long the size is kept, within minReplicas and maxReplicas."""

    @property
    def text(self) -> str:
        """Return its effect in words."""
        return f"a size that another program or person set is kept for {format_duration(self.hold)}"

    def follow(self, before: "BrakeMemory", cycle: Cycle) -> Mapping[str, object]:
        """Return the size, the autoscaler's own ones that it has not shown yet, and the change that is held."""
        if cycle.scaler.dry_run:  # its size is always another's
            return {}
        state, now, outside = cycle.state, cycle.now, before.outside
        size, known = before.size, before.size
        if outside is not None and now - outside.at >= self.hold:
            outside = None
        own = _own_sizes(before.own, cycle.history.pending, now)
        if state is not None:
            size = state.replicas
            if known is not None and size != known:
                place = next((place for place, each in enumerate(own) if each.size == size), None)
                if place is None:
                    outside = OutsideChange(now, known, size)
                else:  # a write accepted before this one is superseded; a write without an answer can still arrive
                    own = (*[each for each in own[:place] if not each.answered], *own[place + 1 :])
        if cycle.size_reset and outside is not None:
            outside = replace(outside, reset=True)
        return {"size": size, "own": own, "outside": outside}

    @staticmethod
    def cause(memory: "BrakeMemory") -> OutsideChange | None:
        """Return the change."""
        return memory.outside

    def said(self, cause: OutsideChange, cycle: Cycle) -> tuple[str, Direction]:
        """Return what has changed, and until when the size stays."""
        stays = "it does not fall" if cause.reset else "within the bounds it stays as it is"
        what = f"something else set the size from {cause.before} to {cause.after}, seen at {time_text(cause.at)}"
        text = f"{what}; {stays} until {time_text(cause.at + self.hold)}"
        return text, Direction.IN if cause.reset else Direction.BOTH


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
