"""The shadow of a dry run: the size that the target would have if its decisions were written.

`decide` observes the shadow, `conclude` resizes it. A caller of `decide`, `conclude` and `remember` with a dry run
needs nothing else, in the daemon or in a replay.
"""

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from typing import Final, NamedTuple

from msgspec.structs import replace

from autoscaler.decide.backlog import known_backlogs, next_backlogs, service_rate
from autoscaler.decide.conserved import observation_of_shadow
from autoscaler.decide.instances import warm_up_of
from autoscaler.decide.proposals import describe, propose, tolerances_of
from autoscaler.decide.scaling_rules import bounds_of
from autoscaler.decide.schedules import open_entries
from autoscaler.model import (
    Autoscaler,
    Condition,
    ConditionType,
    History,
    MetricOutcome,
    Observation,
    Shadow,
    Starting,
    TargetState,
)

LONGEST_START_UP: Final = timedelta(minutes=15)
"""An instance that took longer to become ready was unready in between, and its time is ignored."""


class ShadowObservation(NamedTuple):
    """One cycle as the shadow observes it."""

    observation: Observation
    shadow: Shadow
    """The shadow at `now`, before the decision."""


class UnknownBacklog(NamedTuple):
    """A queue whose length under the shadow is unknown."""

    metric: str
    has_rate: bool
    """Whether its service rate is known. If so, the target's own queue does not show enough."""
    message: str
    """The reason, as a sentence."""


def observe_shadow(
    scaler: Autoscaler, observed: Observation, state: TargetState, history: History, now: datetime
) -> ShadowObservation:
    """Return what the shadow observes instead of `observed`, whose target is `state`.

    Starts a shadow if there is none.
    """
    outcomes = _of_target(scaler, observed, state, now)
    before = history.shadow
    if before is None:
        before = new_shadow(scaler, state, history.conditions, now)
    elif _was_switched_on(before, state, history.conditions):
        restarted = new_shadow(scaler, state, (), now)
        before = replace(before, size=restarted.size, starting=restarted.starting, backlogs=())
    ready = before.ready(now)
    shadow = replace(
        _learned(before, scaler, state),
        starting=tuple([each for each in before.starting if _matters(each, scaler, state, now)]),
        backlogs=next_backlogs(scaler, observed, _ready_of(state), ready, before.backlogs, now),
    )
    above = [metric for metric, outcome in zip(scaler.metrics, outcomes, strict=True) if is_above(scaler, outcome)]
    hiding = next((describe(metric) for metric in above if metric.kind is None), None)  # a backlog is visible: it waits
    bounds = bounds_of(
        scaler, history.steering.at(now).override, open_entries(scaler, observed.civil, now), state.limits
    )
    reason = None if hiding is None else _saturation(state, bounds.maximum, ready)
    doubts = [] if reason is None else [f"{reason}, and {hiding} is above target: more may be asked for than shows"]
    doubts += [each.message for each in unknown_backlogs(scaler, state, shadow, ready)]
    shadow = replace(shadow, above=bool(above), saturated=reason is not None, doubts=tuple(doubts))
    return ShadowObservation(observation_of_shadow(scaler, observed, state, outcomes, shadow, now), shadow)


def new_shadow(scaler: Autoscaler, state: TargetState, conditions: Sequence[Condition], now: datetime) -> Shadow:
    """Return a shadow of the target's size. `conditions` are the target's from before the dry run."""
    start_up = scaler.options.start_up
    waiting = state.replicas - min(_ready_of(state), state.replicas)
    return Shadow(
        state.replicas,
        now,
        start_up,
        starting=(Starting(waiting, now, now + start_up),) if waiting else (),
        scaled_to_zero=next((each for each in conditions if each.type is ConditionType.SCALED_TO_ZERO), None),
    )


def resized(shadow: Shadow, size: int, now: datetime) -> Shadow:
    """Return the shadow with a decision's size, which it has at once. The instances that started last leave first."""
    starting = (*shadow.starting, Starting(max(0, size - shadow.size), now, now + shadow.start_up))
    leaving = max(0, shadow.size - size)
    while leaving and starting and starting[-1].ready_at > now:
        last = starting[-1]
        gone = min(leaving, last.units)
        leaving -= gone
        starting = (*starting[:-1], replace(last, units=last.units - gone)) if gone < last.units else starting[:-1]
    return replace(shadow, size=size, starting=_within(starting, size))


def without_shadow(history: History) -> History:
    """Return the history without its shadow. Recommendations stay, because they are proposals."""
    shadow = history.shadow
    if shadow is None:
        return history
    zero = shadow.scaled_to_zero
    return replace(history, scale_ups=(), scale_downs=(), conditions=() if zero is None else (zero,), shadow=None)


def unknown_backlogs(scaler: Autoscaler, state: TargetState, shadow: Shadow, ready: int) -> Iterator[UnknownBacklog]:
    """Yield the queues with an unknown length in this cycle. `ready`: the shadow's ready units."""
    for metric, backlog in known_backlogs(scaler, shadow.backlogs):
        if _ready_of(state) == ready and backlog.length == backlog.seen:
            continue
        what = describe(metric)
        if service_rate(metric, backlog) is None:
            message = (
                f"the length of {what} with the shadow's {ready} ready is unknown: it has never fallen; give the "
                "metric a serviceRate"
            )
            yield UnknownBacklog(what, has_rate=False, message=message)
        elif not backlog.seen and ready < _ready_of(state):
            message = f"{what} is empty with {_ready_of(state)} ready; with the shadow's {ready} it may not be"
            yield UnknownBacklog(what, has_rate=True, message=message)


def _within(starting: Sequence[Starting], size: int) -> tuple[Starting, ...]:
    """Keep as many as `size` has room for. Among ready instances, the oldest leave first."""
    kept = list[Starting]()
    for each in reversed(starting):
        units = min(each.units, size)
        if units:
            kept.append(each if units == each.units else replace(each, units=units))
        size -= units
    return tuple(reversed(kept))


def _was_switched_on(shadow: Shadow, state: TargetState, conditions: Sequence[Condition]) -> bool:
    """Return whether an operator ended a size of 0 that the shadow cannot leave by itself."""
    if shadow.size or not state.replicas:
        return False
    return not any(each.status for each in conditions if each.type is ConditionType.SCALED_TO_ZERO)


def _ready_of(state: TargetState) -> int:
    """Return the target's ready units, or all existing units if the back end lists no instances."""
    ready = state.ready
    return state.status_replicas if ready is None else ready


def _matters(one: Starting, scaler: Autoscaler, state: TargetState, now: datetime) -> bool:
    """Return whether the instance's times still affect the weight of its samples."""
    warm_at = one.ready_at + warm_up_of(scaler, state)
    return warm_at > now or one.started_at + scaler.options.cpu_initialization_period > now


def _learned(shadow: Shadow, scaler: Autoscaler, state: TargetState) -> Shadow:
    """Return the shadow with the start-up time that the target's instances show.

    Instances that started under the shadow take precedence. For older ones, the daemon may have seen a transition long
    after it happened.
    """
    since, shown = shadow.since, list(_start_ups(state))
    fresh = [turned - started for started, turned in shown if started >= since]
    old = [turned - started for started, turned in shown if turned < since]
    if fresh or (old and not shadow.learnt):
        return replace(shadow, start_up=_median(fresh or old), learnt=True)
    return shadow if shadow.learnt else replace(shadow, start_up=scaler.options.start_up)


def start_up_time(state: TargetState) -> timedelta | None:
    """Return how long the target's ready instances took to become ready: the median; None if none shows it."""
    times = [turned - started for started, turned in _start_ups(state)]
    return _median(times) if times else None


def _start_ups(state: TargetState) -> Iterator[tuple[datetime, datetime]]:
    """Yield when each ready instance started and became ready, where that is known."""
    for each in state.instances:
        started, turned = each.started_at, each.ready_transition
        if not each.ready or each.deleting or started is None or turned is None:
            continue
        if timedelta(0) < turned - started <= LONGEST_START_UP:
            yield started, turned


def _median(times: Sequence[timedelta]) -> timedelta:
    """Return the middle value; the longer of the two for an even number."""
    return sorted(times)[len(times) // 2]


def _of_target(scaler: Autoscaler, observed: Observation, state: TargetState, now: datetime) -> list[MetricOutcome]:
    """Return the metrics' outcomes for the target itself."""
    return [
        propose(scaler, metric, reading, state, now)
        for metric, reading in zip(scaler.metrics, observed.readings, strict=True)
    ]


def is_above(scaler: Autoscaler, outcome: MetricOutcome) -> bool:
    """Return whether a metric exceeds its target by more than the tolerance."""
    return outcome.ratio is not None and outcome.ratio > 1.0 + tolerances_of(scaler).up


def _saturation(state: TargetState, maximum: int, ready: int) -> str | None:
    """Return why the target cannot take more load, or None if it can grow and is as large as its shadow."""
    if state.replicas >= maximum:
        return f"the target is at its maximum of {state.replicas}"
    if _ready_of(state) < ready:
        return f"the target has {_ready_of(state)} ready, its shadow {ready}"
    return None
