"""The demand: how many replicas the load needed in each cycle of the past, whatever the size was.

It is computed once, by what was configured then, and all candidates of a comparison are measured against it. Otherwise
each would be judged by its own target.
"""

from array import array
from dataclasses import dataclass, field
from datetime import datetime
from itertools import pairwise
from math import nan
from typing import Final

from autoscaler.hpa.proposals import tolerances_of
from autoscaler.model import (
    Autoscaler,
    Failure,
    MetricSpec,
    Observation,
    Reading,
    TargetState,
    TargetType,
    ValueReading,
)
from autoscaler.quantity import sum_of
from autoscaler.rules import propose
from autoscaler.whatif.past.past import GAP, Cycle
from autoscaler.whatif.replay.fitting import Fitting

_DIGITS: Final = 9
"""After the point: 55 x 2.2 is a little more than 121 in binary fractions, which must not cost a replica more."""


def demand_of(scaler: Autoscaler, observation: Observation, now: datetime) -> float | None:
    """Return the replicas that put every metric of `scaler` on its target, as a fraction, without bounds and rules.

    It is the highest number of all metrics. None if a metric has no value, the target could not be read, or no instance
    could be measured: unknown is not zero. An instance without a sample, or that warms up, counts with the average
    load of the others.
    """
    state = observation.target
    if not isinstance(state, TargetState):
        return None
    most: float | None = None
    for spec, reading in zip(scaler.metrics, observation.readings, strict=True):
        needed = _needed(scaler, spec, reading, state, now)
        if needed is None:
            return None  # it may be the one that needs most
        most = needed if most is None else max(most, needed)
    return None if most is None else round(most, _DIGITS)


def _needed(
    scaler: Autoscaler, spec: MetricSpec, reading: Reading | Failure, state: TargetState, now: datetime
) -> float | None:
    if isinstance(reading, Failure):
        return None
    if isinstance(reading, ValueReading) and spec.target.type is TargetType.AVERAGE_VALUE:
        return sum_of(reading.values) / spec.target.value
    outcome = propose(scaler, spec, reading, state, now)
    if outcome.ratio is None:
        return None
    if isinstance(reading, ValueReading):
        if state.replicas == 0:
            return outcome.ratio
        return outcome.ratio * outcome.ready if outcome.ready else None
    unmeasured = {*outcome.missing, *outcome.aside}
    silent = sum(each.weight for each in state.instances if each.name in unmeasured) if unmeasured else 0
    return outcome.ratio * (outcome.ready + silent) if outcome.ready else None


@dataclass(frozen=True, slots=True)
class Demand:
    """The replicas needed over time. All arrays have one item for each cycle of the past."""

    at: "array[float]" = field(default_factory=lambda: array("d"))
    """POSIX seconds, rising."""
    needed: "array[float]" = field(default_factory=lambda: array("d"))
    """Replicas, as a fraction; nan if unknown."""
    seconds: "array[float]" = field(default_factory=lambda: array("d"))
    """For how long the cycle counts: until the next one, or for one sync period before a gap."""
    saturated_seconds: float = 0.0
    """During which the target was at its maximum and above its metric's target, outside of the tolerance.

    No metric shows the load that was turned away, so the demand may have been higher than measured.
    """

    def follows_gap(self, place: int) -> bool:
        """Whether the cycle is the first or comes after a gap."""
        return place == 0 or self.at[place - 1] + self.seconds[place - 1] < self.at[place]


def _seconds(at: "array[float]", periods: "array[float]") -> "array[float]":
    """`Demand.seconds` of cycles at these times, with these sync periods in seconds."""
    seconds = array("d")
    for (this, period), (following, next_period) in pairwise(zip(at, periods, strict=True)):
        late = following - this > GAP * max(period, next_period)
        seconds.append(period if late else following - this)
    seconds.extend(periods[-1:])
    return seconds


class DemandRecorder:
    """Takes each cycle in order, and computes the demand, so that the past is read once."""

    def __init__(self, reference: Autoscaler | None) -> None:
        """`reference`: the configuration for cycles that no daemon recorded; None: the one that they have."""
        self._reference = reference
        self._fitting = None if reference is None else Fitting(reference)
        self._at = array("d")
        self._needed = array("d")
        self._periods = array("d")
        self._saturated = bytearray()
        """1: see `Demand.saturated_seconds`."""

    def add(self, cycle: Cycle) -> None:
        """Take the next cycle. One that is not later than the last is left out: the clock was set back."""
        at = cycle.at.timestamp()
        if self._at and at <= self._at[-1]:
            return
        scaler, observed = cycle.scaler, cycle.observation
        if cycle.decision is None and self._reference is not None and self._fitting is not None:
            scaler, observed = self._reference, self._fitting.fit(cycle)
        needed = demand_of(scaler, observed, cycle.at)
        self._at.append(at)
        self._needed.append(nan if needed is None else needed)
        self._periods.append(cycle.scaler.sync_period.total_seconds())
        self._saturated.append(needed is not None and _is_saturated(scaler, cycle, needed))

    def demand(self) -> Demand:
        """The demand of the cycles so far."""
        seconds = _seconds(self._at, self._periods)
        saturated = sum([length for length, hidden in zip(seconds, self._saturated, strict=True) if hidden])
        return Demand(self._at[:], self._needed[:], seconds, saturated)


def _is_saturated(scaler: Autoscaler, cycle: Cycle, needed: float) -> bool:
    state = cycle.observation.target
    if not isinstance(state, TargetState) or not is_at_maximum(cycle, state):
        return False
    return needed > state.replicas * (1 + tolerances_of(scaler).up)


def is_at_maximum(cycle: Cycle, state: TargetState) -> bool:
    """Whether the target was at its upper bound."""
    return state.replicas >= maximum_of(cycle, state)


def maximum_of(cycle: Cycle, state: TargetState) -> int:
    """The upper bound in force in a cycle."""
    if cycle.decision is not None and cycle.decision.maximum is not None:
        return cycle.decision.maximum
    own, limit = cycle.scaler.max_replicas, state.limits.maximum
    return own if limit is None else min(own, limit)
