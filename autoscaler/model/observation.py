"""What one cycle saw: a target's state and one reading for each metric."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from enum import StrEnum
from typing import TypeAlias

from msgspec import Struct, field

from autoscaler.errors import TargetError
from autoscaler.model.sighting import Sightings
from autoscaler.model.target import TargetRef, TargetState
from autoscaler.quantity import Milli


class Sample(Struct, frozen=True, gc=False):
    """One instance's value, in thousandths."""

    value: Milli
    timestamp: datetime
    window: timedelta
    """What the value averages over."""


class InstanceReading(Struct, frozen=True, gc=False):
    """A Resource, ContainerResource or Pods metric: one sample for each instance that has one."""

    samples: Mapping[str, Sample]
    """Instance name -> sample. An instance without one counts as missing."""
    requests: Mapping[str, Milli] = field(default_factory=dict)
    """Instance name -> capacity that Utilization is set against; an instance without one fails the metric."""
    unmatched: tuple[str, ...] = ()
    """Samples that belong to no instance, or to more than one, the first twenty as `label="value"`; never summed in."""
    more_unmatched: int = 0
    """How many more there are than `unmatched` names."""
    dropped: tuple[str, ...] = ()
    """Instances whose sample was unusable (NaN, too old, twice), each with why; they count as missing."""


class ValueReading(Struct, frozen=True, gc=False):
    """An Object (exactly one value) or External metric (the values are summed), in thousandths."""

    values: tuple[Milli, ...]


class Failure(Struct, frozen=True, gc=False):
    """Why a metric has no value in this cycle."""

    message: str
    """One printable line."""

    def __str__(self) -> str:
        return self.message


Reading: TypeAlias = InstanceReading | ValueReading


class CivilTime(Struct, frozen=True, gc=False, array_like=True):
    """Civil time, by which schedules open and close, beside a cycle's `now`."""

    ahead: timedelta = timedelta(0)
    """By how much it is ahead of `now`. Setting the wall clock changes both."""
    doubted: bool = False
    """Whether it differs by a minute or more from the time of a Prometheus that the autoscaler asks."""


class DrainOutcome(StrEnum):
    """How a drain ended."""

    DONE = "done"
    """The action succeeded, and the instance was let go."""
    TIMED_OUT = "timeout"
    """The drain's timeout passed, and the instance was let go."""
    GONE = "gone"
    """The instance no longer waits: it ended, or its back end or another client let it go."""


class DrainReport(Struct, frozen=True, gc=False, array_like=True):
    """What the daemon did for one drain, as far as it knows when a cycle observes."""

    instance: str
    detail: str = ""
    outcome: DrainOutcome | None = None
    """DONE or TIMED_OUT, from the moment at which the instance is to be let go; None: the action goes on."""
    released: bool = False
    """Whether the back end has accepted that."""


class Observation(Struct, frozen=True):
    """Everything one decision is made from, apart from what is remembered."""

    target: TargetState | TargetError
    readings: tuple[Reading | Failure, ...]
    """One for each of the autoscaler's metrics, in their order."""
    victims: tuple[str, ...] = ()
    """Instances to remove first when scaling in, best victim first; empty: the back end chooses."""
    fallbacks: tuple[Reading | Failure | None, ...] = ()
    """One for each metric: what its fallback's query reads, None where it has none. Empty: no metric has one."""
    civil: CivilTime = CivilTime()
    drains: tuple[DrainReport, ...] = ()
    """Of the drains of its target that this daemon has under way or has ended."""


class Observed(Struct, frozen=True):
    """The observations of one batch."""

    observations: Mapping[str, Observation]
    """By the autoscaler's name; every one asked for."""
    sightings: Mapping[TargetRef, Sightings] = field(default_factory=dict)
    """Of the targets whose sightings are not what was known of them: to be remembered."""
    seconds: float = 0.0
    """How long it took."""
