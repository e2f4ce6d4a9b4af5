"""The load model: what a candidate reads in place of the target.

The load does not depend on the number of instances. The total of a per-instance metric is spread over the candidate's
ready instances, an Object or External `value` keeps its product with the ready units, and an `averageValue` keeps its
value.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Final, NamedTuple

from autoscaler.hpa.instances import SetAside, groups_of, ready_units
from autoscaler.model import (
    Autoscaler,
    Failure,
    Instance,
    InstanceReading,
    MetricSpec,
    Observation,
    Phase,
    Reading,
    Sample,
    TargetState,
    TargetType,
    ValueReading,
)
from autoscaler.quantity import MAX_MILLI, sum_of
from autoscaler.rules import plan_of, propose, set_aside
from autoscaler.whatif.replay.fleet import Fleet

_MAX_INSTANCES: Final = 1000
"""Most instances that represent a fleet. A larger one gets instances of greater weight."""
_LONG_AGO: Final = datetime(1970, 1, 1, tzinfo=UTC)


def observation_of_fleet(
    scaler: Autoscaler, observed: Observation, state: TargetState, fleet: Fleet, start_up: timedelta, now: datetime
) -> Observation:
    """The observation as if the target had been the fleet. `state`: the target of `observed`."""
    instances = (*_long_ready(fleet.size - sum([each.units for each in fleet.starting])), *_starting(fleet, now))
    view = _View(scaler, state, instances, start_up, now)
    readings = [
        view.conserved(metric, reading) for metric, reading in zip(scaler.metrics, observed.readings, strict=True)
    ]
    fallbacks = [
        None if asked is None else view.conserved(metric, asked)
        for metric, asked in zip(scaler.metrics, observed.fallbacks, strict=False)
    ]
    seen = replace(state, replicas=fleet.size, status_replicas=fleet.size, instances=instances, deployment=None)
    return Observation(seen, tuple(readings), (), tuple(fallbacks), observed.civil)


class _View(NamedTuple):
    """The target and the candidate's instances in one cycle."""

    scaler: Autoscaler
    state: TargetState
    instances: tuple[Instance, ...]
    """The candidate's."""
    start_up: timedelta
    now: datetime

    def conserved(self, metric: MetricSpec, reading: Reading | Failure) -> Reading | Failure:
        """The reading with the same load on the candidate's ready instances. Errors of the target stay errors."""
        if isinstance(reading, Failure):
            return reading
        outcome = propose(self.scaler, metric, reading, self.state, self.now)
        if outcome.error is not None:
            return Failure(outcome.error)
        if isinstance(reading, InstanceReading):
            return self._spread(metric, reading)
        if metric.target.type is TargetType.AVERAGE_VALUE:
            return reading
        ready, own = ready_units(self.state.instances), ready_units(self.instances)
        value = sum_of(reading.values)
        return ValueReading((value if ready == own else min(value * max(1, ready) // max(1, own), MAX_MILLI),))

    @property
    def _set_aside(self) -> SetAside:
        return set_aside(plan_of(self.scaler.rules), self.state, self.now)

    def _spread(self, metric: MetricSpec, reading: InstanceReading) -> InstanceReading:
        """Spread the total over the candidate's ready instances, exact to the thousandth.

        A working instance that has no sample or warms up is assumed to be loaded like the others. The share of the
        candidate's instances without a sample is the same, and at least one.
        """
        groups = groups_of(self.scaler, metric, reading.samples, self.state, self.now, self._set_aside)
        measured = [each for each in self.state.instances if each.name in groups.samples]
        unsampled = sum([each.weight for each in groups.missing if self._works(each)])
        units = max(1, sum([each.weight for each in measured]))
        working = units + unsampled + sum([each.weight for each in groups.aside if self._works(each)])
        ready = [each for each in self.instances if each.ready]
        own = sum([each.weight for each in ready])
        total = min(sum_of(groups.samples.values()) * working // units, MAX_MILLI)
        newest = max(reading.samples.values(), key=lambda sample: sample.timestamp)
        without = 0 if own <= 1 else min(own - 1, -(-own * unsampled // working))
        samples = dict[str, Sample]()
        for each, value in zip(ready, _shares(total, ready), strict=True):
            own -= each.weight
            if own >= without:
                samples[each.name] = Sample(value, newest.timestamp, newest.window)
        requests = dict[str, int]()
        if metric.target.type is TargetType.UTILIZATION:
            requested = sum([reading.requests[each.name] for each in measured if each.name in reading.requests])
            all_units = sum([each.weight for each in self.instances])
            shares = _shares(requested * all_units // units, self.instances)
            requests = {each.name: share for each, share in zip(self.instances, shares, strict=True)}
        return InstanceReading(samples, requests, reading.unmatched, reading.more_unmatched, reading.dropped)

    def _works(self, one: Instance) -> bool:
        """Whether an instance whose sample does not count carries load. A starting instance does not."""
        if one.ready is False:
            return False
        return one.started_at is None or one.started_at + self.start_up <= self.now


def _shares(total: int, among: Sequence[Instance]) -> list[int]:
    """Divide a total by weight. The parts add up to the total."""
    units = sum([each.weight for each in among])
    shares, before, assigned = [], 0, 0
    for each in among:
        before += each.weight
        upto = total * before // units
        shares.append(upto - assigned)
        assigned = upto
    return shares


@lru_cache(maxsize=64)
def _long_ready(units: int) -> tuple[Instance, ...]:
    """Instances that have been ready for a long time."""
    return tuple(_instances("old", units, Phase.RUNNING, _LONG_AGO, _LONG_AGO))


def _starting(fleet: Fleet, now: datetime) -> Iterator[Instance]:
    """Instances that are still starting, or started recently."""
    for number, each in enumerate(fleet.starting, 1):
        phase = Phase.PENDING if each.ready_at > now else Phase.RUNNING
        turned = each.started_at if phase is Phase.PENDING else each.ready_at
        yield from _instances(f"new {number}", each.units, phase, each.started_at, turned)


def _instances(name: str, units: int, phase: Phase, started: datetime, turned: datetime) -> Iterator[Instance]:
    weight = -(-units // _MAX_INSTANCES)
    for place in range(-(-units // weight) if units else 0):
        yield Instance(
            f"{name}-{place + 1}",
            phase,
            phase is Phase.RUNNING,
            ready_transition=turned,
            started_at=started,
            weight=min(weight, units - place * weight),
        )
