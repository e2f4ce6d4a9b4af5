"""The shadow of a dry run: what would be seen if its decisions were written. The load model `conserved`.

The load is what it is, however many instances share it: the total of a per-instance metric stays and is spread over the
instances that the shadow has ready, an Object or External `value` keeps its product with the ready units, and an
`averageValue` keeps its value. A backlog is another matter (`backlog`).
"""

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Final, NamedTuple

from msgspec.structs import replace

from autoscaler.decide.backlog import as_backlog, known_backlogs, next_backlogs, service_rate
from autoscaler.decide.instances import group, ready_units
from autoscaler.decide.proposals import describe, is_cpu, propose, tolerances_of
from autoscaler.decide.scaling_rules import bounds_of
from autoscaler.errors import MetricError
from autoscaler.model import (
    Autoscaler,
    Condition,
    ConditionType,
    History,
    Instance,
    InstanceReading,
    MetricKind,
    MetricOutcome,
    MetricSpec,
    Observation,
    Phase,
    Reading,
    Sample,
    Shadow,
    Starting,
    TargetState,
    TargetType,
    ValueReading,
)
from autoscaler.quantity import MAX_MILLI, sum_of

LONGEST_START_UP: Final = timedelta(minutes=15)
"""An instance that turned ready later than this after its start has been unready since: nothing is learnt of it."""
_MOST: Final = 1000
"""So many instances stand for the shadow's at most; of a larger size each has more weight."""
_LONG_AGO: Final = datetime(1970, 1, 1, tzinfo=UTC)


class Seen(NamedTuple):
    """One cycle as the shadow sees it."""

    observation: Observation
    shadow: Shadow
    """At the cycle's `now`, before its decision."""
    warnings: tuple[str, ...]
    """What makes the shadow doubtful."""


def see(scaler: Autoscaler, observed: Observation, state: TargetState, history: History, now: datetime) -> Seen:
    """What the shadow sees in place of `observed`, whose target is `state`. One that has not begun begins."""
    outcomes = _of_target(scaler, observed, state, now)
    before = history.shadow
    if before is None or _was_switched_on(before, state, history.conditions):
        before = begun(scaler, state, history.conditions, now)
    ready = before.ready(now)
    shadow = replace(
        _learned(before, scaler, state),
        starting=tuple([each for each in before.starting if _matters(each, scaler, now)]),
        backlogs=next_backlogs(scaler, observed, _ready_of(state), ready, before.backlogs, now),
    )
    above = [metric for metric, outcome in zip(scaler.metrics, outcomes, strict=True) if _is_above(scaler, outcome)]
    hiding = next((describe(metric) for metric in above if metric.kind is None), None)  # a backlog waits, and shows
    reason = None if hiding is None else _saturation(scaler, state, history, ready, now)
    shadow = replace(shadow, above=bool(above), saturated=reason is not None)
    warnings = [] if reason is None else [f"{reason}, and {hiding} is above target: more may be asked for than shows"]
    warnings += _unknown_backlogs(scaler, state, shadow, ready)
    return Seen(as_seen(scaler, observed, state, outcomes, shadow, now), shadow, tuple(warnings))


def begun(scaler: Autoscaler, state: TargetState, conditions: Sequence[Condition], now: datetime) -> Shadow:
    """A shadow of the target's size. `conditions`: the target's, while it was not a dry run."""
    start_up = scaler.options.start_up
    waiting = state.replicas - min(_ready_of(state), state.replicas)
    return Shadow(
        state.replicas,
        now,
        start_up,
        starting=(Starting(waiting, now, now + start_up),) if waiting else (),
        scaled_to_zero=next((each for each in conditions if each.type is ConditionType.SCALED_TO_ZERO), None),
    )


def followed(shadow: Shadow, size: int, now: datetime) -> Shadow:
    """The shadow after a decision: it has this size at once. What leaves first is what started last."""
    starting, grown = shadow.starting, size - shadow.size
    if grown > 0:
        starting = (*starting, Starting(grown, now, now + shadow.start_up))
    leaving = max(0, -grown)
    while leaving and starting and starting[-1].ready_at > now:
        last = starting[-1]
        gone = min(leaving, last.units)
        leaving -= gone
        starting = (*starting[:-1], replace(last, units=last.units - gone)) if gone < last.units else starting[:-1]
    return replace(shadow, size=size, starting=_within(starting, size))


def without_shadow(history: History) -> History:
    """What stays when there is no shadow any more: recommendations are proposals, all else was the shadow's own."""
    shadow = history.shadow
    if shadow is None:
        return history
    zero = shadow.scaled_to_zero
    return replace(history, scale_ups=(), scale_downs=(), conditions=() if zero is None else (zero,), shadow=None)


def _within(starting: Sequence[Starting], size: int) -> tuple[Starting, ...]:
    """As many of them as there is room for; of those that are ready the oldest leave first."""
    kept = list[Starting]()
    for each in reversed(starting):
        units = min(each.units, size)
        if units:
            kept.append(each if units == each.units else replace(each, units=units))
        size -= units
    return tuple(reversed(kept))


def _was_switched_on(shadow: Shadow, state: TargetState, conditions: Sequence[Condition]) -> bool:
    """Whether an operator has ended a size of 0 that the shadow, too, cannot leave by itself."""
    if shadow.size or not state.replicas:
        return False
    return not any(each.status for each in conditions if each.type is ConditionType.SCALED_TO_ZERO)


def _ready_of(state: TargetState) -> int:
    """Units of the target that work; all that exist where the back end lists no instances."""
    ready = state.ready
    return state.status_replicas if ready is None else ready


def _matters(one: Starting, scaler: Autoscaler, now: datetime) -> bool:
    """Whether its times still decide what its samples are worth."""
    return one.ready_at > now or one.started_at + scaler.options.cpu_initialization_period > now


def _learned(shadow: Shadow, scaler: Autoscaler, state: TargetState) -> Shadow:
    """The shadow with the start-up time that the target's instances show.

    What has started since the shadow began counts before what was there: of that, a time that the back end does not
    know is when the daemon first saw it, which may be long after it happened.
    """
    since, fresh, old = shadow.since, list[timedelta](), list[timedelta]()
    for each in state.instances:
        started, turned = each.started_at, each.ready_transition
        if not each.ready or each.deleting or started is None or turned is None:
            continue
        if not timedelta(0) < turned - started <= LONGEST_START_UP:
            continue
        if started >= since:
            fresh.append(turned - started)
        elif turned < since:
            old.append(turned - started)
    if fresh or (old and not shadow.learnt):
        return replace(shadow, start_up=_median(fresh or old), learnt=True)
    return shadow if shadow.learnt else replace(shadow, start_up=scaler.options.start_up)


def _median(times: Sequence[timedelta]) -> timedelta:
    """The one in the middle, of an even number the longer."""
    return sorted(times)[len(times) // 2]


def _of_target(scaler: Autoscaler, observed: Observation, state: TargetState, now: datetime) -> list[MetricOutcome]:
    """What the metrics come to for the target itself."""
    tolerances = tolerances_of(scaler)
    return [
        propose(metric, reading, state, scaler.options, tolerances, now)
        for metric, reading in zip(scaler.metrics, observed.readings, strict=True)
    ]


def _is_above(scaler: Autoscaler, outcome: MetricOutcome) -> bool:
    """Whether a metric is above its target by more than the tolerance."""
    return outcome.ratio is not None and outcome.ratio > 1.0 + tolerances_of(scaler).up


def _saturation(scaler: Autoscaler, state: TargetState, history: History, ready: int, now: datetime) -> str | None:
    """Why the target cannot take more than it does; None: it could grow, and is no smaller than its shadow."""
    if state.replicas >= bounds_of(scaler, history.steering.at(now).override, state.limits).maximum:
        return f"the target is at its maximum of {state.replicas}"
    if _ready_of(state) < ready:
        return f"the target has {_ready_of(state)} ready, its shadow {ready}"
    return None


def _unknown_backlogs(scaler: Autoscaler, state: TargetState, shadow: Shadow, ready: int) -> Iterator[str]:
    for metric, backlog in known_backlogs(scaler, shadow.backlogs):
        if _ready_of(state) == ready and backlog.length == backlog.seen:
            continue
        if service_rate(metric, backlog) is None:
            yield (
                f"nobody knows how long {describe(metric)} would be with the shadow's {ready} ready: it has never "
                "fallen; give the metric a serviceRate"
            )
        elif not backlog.seen and ready < _ready_of(state):
            yield f"{describe(metric)} is empty with {_ready_of(state)} ready; with the shadow's {ready} it may not be"


def as_seen(
    scaler: Autoscaler,
    observed: Observation,
    state: TargetState,
    outcomes: Sequence[MetricOutcome],
    shadow: Shadow,
    now: datetime,
) -> Observation:
    """The observation as it would be if the target were its shadow. `outcomes`: of the target itself."""
    instances = (*_settled(shadow.size - sum([each.units for each in shadow.starting])), *_recent(shadow, now))
    view = _View(scaler, state, shadow, instances, now)
    readings = [
        view.reading(position, metric, reading, outcome)
        for position, (metric, reading, outcome) in enumerate(
            zip(scaler.metrics, observed.readings, outcomes, strict=True)
        )
    ]
    fallbacks = list[Reading | MetricError | None]()
    for metric, asked in zip(scaler.metrics, observed.fallbacks, strict=False):
        fallbacks.append(None if asked is None else view.conserved(metric, asked, None))
    seen = TargetState(shadow.size, shadow.size, instances, state.limits, state.hold, state.revision, state.warnings)
    return Observation(seen, tuple(readings), (), tuple(fallbacks))


class _View(NamedTuple):
    """The target and its shadow side by side, in one cycle."""

    scaler: Autoscaler
    state: TargetState
    shadow: Shadow
    instances: tuple[Instance, ...]
    """The shadow's."""
    now: datetime

    def reading(
        self, position: int, metric: MetricSpec, reading: Reading | MetricError, outcome: MetricOutcome
    ) -> Reading | MetricError:
        """What the shadow reads of a metric."""
        if metric.kind is MetricKind.BACKLOG and isinstance(reading, ValueReading):
            return as_backlog(self.scaler, position, reading, self.shadow.backlogs)
        return self.conserved(metric, reading, outcome)

    def conserved(
        self, metric: MetricSpec, reading: Reading | MetricError, outcome: MetricOutcome | None
    ) -> Reading | MetricError:
        """The same load on the shadow's ready instances; what failed for the target failed for its shadow."""
        if isinstance(reading, MetricError):
            return reading
        if outcome is None:
            tolerances = tolerances_of(self.scaler)
            outcome = propose(metric, reading, self.state, self.scaler.options, tolerances, self.now)
        if outcome.error is not None:
            return MetricError(outcome.error)
        if isinstance(reading, InstanceReading):
            return self._spread(metric, reading)
        if metric.target.type is TargetType.AVERAGE_VALUE:
            return reading
        ready, own = ready_units(self.state.instances), ready_units(self.instances)
        value = sum_of(reading.values)
        return ValueReading((value if ready == own else min(value * max(1, ready) // max(1, own), MAX_MILLI),))

    def _spread(self, metric: MetricSpec, reading: InstanceReading) -> InstanceReading:
        """The total of the instances that work, on as many as the shadow has ready, to the thousandth.

        An instance that works and has no sample is taken for as loaded as the others, and the same share of the
        shadow's instances, at least one, has no sample either.
        """
        options = self.scaler.options
        groups = group(self.state.instances, reading.samples, options, self.now, is_cpu=is_cpu(metric))
        measured = [each for each in self.state.instances if each.name in groups.samples]
        unseen = sum([each.weight for each in groups.missing if self._works(each)])
        units = max(1, sum([each.weight for each in measured]))
        working = units + unseen
        ready = [each for each in self.instances if each.ready]
        own = sum([each.weight for each in ready])
        total = min(sum_of(groups.samples.values()) * working // units, MAX_MILLI)
        newest = max(reading.samples.values(), key=lambda sample: sample.timestamp)
        without = 0 if own <= 1 else min(own - 1, -(-own * unseen // working))
        samples = dict[str, Sample]()
        for each, value in zip(ready, _shares(total, ready), strict=True):
            own -= each.weight
            if own >= without:
                samples[each.name] = Sample(value, newest.timestamp, newest.window)
        requests = dict[str, int]()
        if metric.target.type is TargetType.UTILIZATION:
            requested = sum([reading.requests[each.name] for each in measured if each.name in reading.requests])
            everybody = sum([each.weight for each in self.instances])
            shares = _shares(requested * everybody // units, self.instances)
            requests = {each.name: share for each, share in zip(self.instances, shares, strict=True)}
        return InstanceReading(samples, requests, reading.unmatched, reading.more_unmatched, reading.dropped)

    def _works(self, one: Instance) -> bool:
        """Whether an instance without a sample has its part of the load: not while it starts."""
        if one.ready is False:
            return False
        return one.started_at is None or one.started_at + self.shadow.start_up <= self.now


def _shares(total: int, among: Sequence[Instance]) -> list[int]:
    """A total by weight, without losing a thousandth."""
    units = sum([each.weight for each in among])
    shares, before, given = [], 0, 0
    for each in among:
        before += each.weight
        upto = total * before // units
        shares.append(upto - given)
        given = upto
    return shares


@lru_cache(maxsize=64)
def _settled(units: int) -> tuple[Instance, ...]:
    """Instances that have been ready for long."""
    return tuple(_instances("shadow", units, Phase.RUNNING, _LONG_AGO, _LONG_AGO))


def _recent(shadow: Shadow, now: datetime) -> Iterator[Instance]:
    """Those that have not."""
    for number, each in enumerate(shadow.starting, 1):
        phase = Phase.PENDING if each.ready_at > now else Phase.RUNNING
        turned = each.started_at if phase is Phase.PENDING else each.ready_at
        yield from _instances(f"shadow {number}", each.units, phase, each.started_at, turned)


def _instances(name: str, units: int, phase: Phase, started: datetime, turned: datetime) -> Iterator[Instance]:
    weight = -(-units // _MOST)
    for place in range(-(-units // weight) if units else 0):
        yield Instance(
            f"{name}-{place + 1}",
            phase,
            phase is Phase.RUNNING,
            ready_transition=turned,
            started_at=started,
            weight=min(weight, units - place * weight),
        )
