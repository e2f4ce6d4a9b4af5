"""How many replicas the load needed at each moment of the past, whatever there was: the curve that sizes are held to.

It is made once, for one reference configuration, and is the same for all candidates of a comparison: each would
otherwise be judged by its own target.
"""

from array import array
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import pairwise
from math import nan
from typing import Final

from autoscaler.decide.proposals import propose, tolerances_of
from autoscaler.errors import MetricError
from autoscaler.foresee.shadow_comparison import GAP
from autoscaler.model import (
    Autoscaler,
    MetricSpec,
    Observation,
    Reading,
    TargetState,
    TargetType,
    ValueReading,
)
from autoscaler.quantity import sum_of
from autoscaler.whatif.past.past import Moment
from autoscaler.whatif.replay.fitting import Fitting

_DIGITS: Final = 9
"""After the point: 55 x 2.2 is a little more than 121 in binary fractions, and no replica more is needed for that."""


def demand_of(scaler: Autoscaler, observation: Observation, now: datetime) -> float | None:
    """The replicas that put every metric of `scaler` exactly on its target; not whole, of no bound, window or policy.

    The most that a metric asks for. None: a metric has no value, the target could not be read, or nothing was there to
    measure; what is not known is not zero. An instance without a sample is taken to carry as much as the others.
    """
    state = observation.target
    if not isinstance(state, TargetState):
        return None
    most: float | None = None
    for spec, reading in zip(scaler.metrics, observation.readings, strict=True):
        needed = _needed(scaler, spec, reading, state, now)
        if needed is None:
            return None  # it may be the one that asks for most
        most = needed if most is None else max(most, needed)
    return None if most is None else round(most, _DIGITS)


def _needed(
    scaler: Autoscaler, spec: MetricSpec, reading: Reading | MetricError, state: TargetState, now: datetime
) -> float | None:
    if isinstance(reading, MetricError):
        return None
    if isinstance(reading, ValueReading) and spec.target.type is TargetType.AVERAGE_VALUE:
        return sum_of(reading.values) / spec.target.value
    outcome = propose(spec, reading, state, scaler.options, tolerances_of(scaler), now)
    if outcome.ratio is None:
        return None
    if isinstance(reading, ValueReading):
        if state.replicas == 0:
            return outcome.ratio
        return outcome.ratio * outcome.ready if outcome.ready else None
    missing = frozenset(outcome.missing)
    silent = sum(each.weight for each in state.instances if each.name in missing) if missing else 0
    return outcome.ratio * (outcome.ready + silent) if outcome.ready else None


@dataclass(frozen=True, slots=True)
class Demand:
    """The replicas needed over time. All arrays have one entry for each moment of the past."""

    at: "array[float]" = field(default_factory=lambda: array("d"))
    """POSIX seconds, rising."""
    needed: "array[float]" = field(default_factory=lambda: array("d"))
    """Replicas, not whole; nan: not known."""
    seconds: "array[float]" = field(default_factory=lambda: array("d"))
    """For how long the moment stands: until the next one, but no longer than a sync period where that is late."""
    saturated: bytearray = field(default_factory=bytearray)
    """1: the target was as large as it could become and still above its metric's target, outside the tolerance.

    Load that is turned away shows in no metric, so more may have been needed than could be measured.
    """
    counted: bytearray = field(default_factory=bytearray)
    """0: the moment counts in no measure."""
    tolerance: float = 0.0
    """Of the reference: what is ready is above its target where the load needs more than this more, 0.1 for 10 %."""

    def between(self, since: datetime, until: datetime) -> "Demand":
        """The same with only the moments from `since` to before `until` counted, of those that are now."""
        first, end = since.timestamp(), until.timestamp()
        return self._counting([first <= at < end for at in self.at])

    def without(self, other: "Demand") -> "Demand":
        """The same with only the moments counted that do not count in another curve of the same moments."""
        return self._counting([not counted for counted in other.counted])

    def unsaturated(self) -> "Demand":
        """The same without the moments in which demand may have been hidden."""
        return self._counting([not hidden for hidden in self.saturated])

    def _counting(self, wanted: Sequence[bool]) -> "Demand":
        kept = [want and bool(now) for want, now in zip(wanted, self.counted, strict=True)]
        return replace(self, counted=bytearray(kept))

    def counts(self, at: datetime) -> bool:
        """Whether a time is in what is counted: a gap is not."""
        time = at.timestamp()
        place = bisect_right(self.at, time) - 1
        return place >= 0 and bool(self.counted[place]) and time < self.at[place] + self.seconds[place]

    def follows_gap(self, place: int) -> bool:
        """Whether what was before a moment is not known: it is the first, or comes after a gap."""
        return place == 0 or self.at[place - 1] + self.seconds[place - 1] < self.at[place]


def seconds_of(at: "array[float]", periods: "array[float]") -> "array[float]":
    """As in Demand, for moments at these times, whose sync periods have so many seconds."""
    seconds = array("d")
    for (this, period), (following, next_period) in pairwise(zip(at, periods, strict=True)):
        late = following - this > GAP * max(period, next_period)
        seconds.append(period if late else following - this)
    seconds.extend(periods[-1:])
    return seconds


class DemandRecorder:
    """Makes the demand curve of moments that pass by, so that the past is read once."""

    def __init__(self, reference: Autoscaler | None) -> None:
        """`reference`: whose metrics and targets say what was needed; None: what was configured first in that past."""
        self._reference = reference
        self._fitting = None if reference is None else Fitting(reference)
        self._at = array("d")
        self._needed = array("d")
        self._periods = array("d")
        self._saturated = bytearray()

    def add(self, moment: Moment) -> None:
        """Take in the next moment; one that is not later than the last is left out, as a clock may be set back."""
        at = moment.at.timestamp()
        if self._at and at <= self._at[-1]:
            return
        reference = self._reference or moment.scaler
        if reference is None:
            return
        if self._fitting is None:
            self._reference, self._fitting = reference, Fitting(reference)
        seen = moment.observation
        if moment.scaler is not None:
            seen = self._fitting.fit(moment.scaler, seen)
        needed = demand_of(reference, seen, moment.at)
        self._at.append(at)
        self._needed.append(nan if needed is None else needed)
        self._periods.append((moment.scaler or reference).sync_period.total_seconds())
        self._saturated.append(needed is not None and _is_saturated(reference, moment, needed))

    def demand(self) -> Demand:
        """The curve of what has passed."""
        seconds = seconds_of(self._at, self._periods)
        counted = bytearray([1]) * len(seconds)
        tolerance = 0.0 if self._reference is None else tolerances_of(self._reference).up
        return Demand(self._at[:], self._needed[:], seconds, self._saturated[:], counted, tolerance)


def _is_saturated(reference: Autoscaler, moment: Moment, needed: float) -> bool:
    state = moment.observation.target
    if not isinstance(state, TargetState) or not is_at_maximum(reference, moment, state):
        return False
    return needed > state.replicas * (1 + tolerances_of(reference).up)


def is_at_maximum(reference: Autoscaler, moment: Moment, state: TargetState) -> bool:
    """Whether the target was as large as it could become."""
    maximum = None if moment.decision is None else moment.decision.maximum
    if maximum is None:
        own, limit = (moment.scaler or reference).max_replicas, state.limits.maximum
        maximum = own if limit is None else min(own, limit)
    return state.replicas >= maximum


def demand_over(reference: Autoscaler | None, moments: Iterable[Moment]) -> Demand:
    """The demand curve of a past. `reference`: as of DemandRecorder."""
    recorder = DemandRecorder(reference)
    for moment in moments:
        recorder.add(moment)
    return recorder.demand()
