"""The shadow of a target: the size that a dry run's decisions would have made of it."""

from datetime import datetime, timedelta

from msgspec import Struct

from autoscaler.model.condition import Condition
from autoscaler.quantity import Milli


class Starting(Struct, frozen=True, gc=False):
    """Units that the shadow was given at one time."""

    units: int
    """At least 1."""
    started_at: datetime
    ready_at: datetime
    """From then on they are ready: a start-up time after `started_at`."""


class Backlog(Struct, frozen=True, gc=False):
    """One metric of the kind `backlog`: how long the queue would be, had the target been as large as its shadow."""

    name: str
    number: int
    """Its place among the autoscaler's backlogs of this name, from 0."""
    length: Milli
    """The shadow's queue."""
    seen: Milli
    """The target's queue when it was last read."""
    at: datetime
    """When that was."""
    falling: Milli = 0
    """How fast the target's queue fell in the last cycle: per ready unit and second, at least 0."""
    learnt: Milli | None = None
    """What a ready unit works off in a second, as far as the target's queue has shown; None: it never fell."""


class Shadow(Struct, frozen=True, gc=False):
    """What a dry run remembers of the size that follows its decisions. Counts are units of size.

    A size that it decides is the shadow's at once; what it grows by is ready a start-up time later.
    """

    size: int
    since: datetime
    """When it began, at the size that the target had."""
    start_up: timedelta
    """From the start of an instance to its readiness."""
    learnt: bool = False
    """Whether the target's instances have shown that; false: it is the configuration's."""
    starting: tuple[Starting, ...] = ()
    """In order of time. Those that have been ready for long are left out."""
    backlogs: tuple[Backlog, ...] = ()
    above: bool = False
    """Whether, in the last cycle, a metric of the target itself was above its target by more than the tolerance."""
    saturated: bool = False
    """Whether, in the last cycle, the target was too small for its load, so that demand may not have shown in full."""
    doubts: tuple[str, ...] = ()
    """What made the shadow doubtful in the last cycle, a sentence each; the first says why it was saturated."""
    scaled_to_zero: Condition | None = None
    """The target's own condition ScaledToZero, from before the dry run; None: it had none."""

    def ready(self, now: datetime) -> int:
        """How many of its units are ready at this time."""
        return self.size - sum([each.units for each in self.starting if each.ready_at > now])
