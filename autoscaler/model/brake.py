"""Brakes: what keeps a size where it is while something is wrong around the target; and what they remember."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final

from msgspec import Struct

from autoscaler.model.steering import Direction


class Brake(StrEnum):
    """The brakes, as the configuration calls them."""

    UNFULFILLED = "unfulfilled"
    """Much of what was asked for does not arrive: grow no further."""
    LOSS = "loss"
    """Many instances are gone at once: no scale-in."""
    OUTSIDE_CHANGE = "outsideChange"
    """Somebody else set the size: leave it for a while."""


@dataclass(frozen=True, slots=True)
class UnfulfilledBrake:
    """When what is missing keeps a size from growing."""

    percent: int = 30
    """More than this share of what is asked for is missing; 1 to 100."""
    progress_deadline: timedelta = timedelta(minutes=10)
    """For how long there may be no progress; above 0."""


@dataclass(frozen=True, slots=True)
class LossBrake:
    """When instances that are gone keep a size from falling."""

    percent: int = 30
    """This share of those that ran, or more, are gone from one cycle to the next; 1 to 100."""
    hold: timedelta = timedelta(minutes=5)
    """How long there is no scale-in; above 0."""


@dataclass(frozen=True, slots=True)
class OutsideChangeBrake:
    """That a size which somebody else set is left as it is."""

    hold: timedelta = timedelta(minutes=10)
    """How long; above 0."""


@dataclass(frozen=True, slots=True)
class Brakes:
    """An autoscaler's brakes; None: it has not got that one."""

    unfulfilled: UnfulfilledBrake | None = None
    loss: LossBrake | None = None
    outside_change: OutsideChangeBrake | None = None

    @property
    def configured(self) -> tuple[Brake, ...]:
        """Those that there are, in the order in which they give the reason for a hold."""
        pairs = (
            (Brake.UNFULFILLED, self.unfulfilled),
            (Brake.LOSS, self.loss),
            (Brake.OUTSIDE_CHANGE, self.outside_change),
        )
        return tuple([brake for brake, rule in pairs if rule is not None])

    @property
    def times(self) -> tuple[timedelta, ...]:
        """How long each of them waits or holds, in no order."""
        unfulfilled, loss, outside = self.unfulfilled, self.loss, self.outside_change
        found = (
            None if unfulfilled is None else unfulfilled.progress_deadline,
            None if loss is None else loss.hold,
            None if outside is None else outside.hold,
        )
        return tuple([each for each in found if each is not None])


NO_BRAKES: Final = Brakes()


class ActiveBrake(Struct, frozen=True, gc=False):
    """A brake that is on, whether or not the metrics ask for what it prevents."""

    brake: Brake
    reason: str
    """A `Reason`: of the condition AbleToScale where it prevents a change."""
    message: str
    direction: Direction = Direction.BOTH
    """Of the changes that it prevents."""


class Shortfall(Struct, frozen=True, gc=False):
    """More is missing of what is asked for than the brake allows. Counts are units of size."""

    since: datetime
    """When it began, or last made progress: more existed than ever since it began."""
    most: int
    """How many existed at once, at most, since it began."""
    missing: int
    """How many did not exist when the target was last read."""
    asked: int
    """Of so many."""
    stalled: bool
    """Whether there was no progress for the progress deadline: the brake is on."""


class InstanceLoss(Struct, frozen=True, gc=False):
    """Instances were gone from one cycle to the next. Counts are units of size."""

    at: datetime
    lost: int
    of: int


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
