"""Fallbacks: what stands in for a metric that has had no value for long.

Source: Kubernetes' KEP-5679, "Fallback for HPA on failure to retrieve metrics": the time counts from the first failure
and ends with the first value; what a fallback asks for is one proposal among the others. The floor at the current size
is ours.
"""

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from typing import NamedTuple

from msgspec.structs import replace

from autoscaler.decide.proposals import WAKING_METRICS, describe, propose, tolerances_of
from autoscaler.errors import MetricError
from autoscaler.model import (
    Autoscaler,
    Event,
    EventType,
    Fallback,
    FallbackState,
    InstanceReading,
    MetricFailure,
    MetricOutcome,
    MetricSpec,
    MetricType,
    Observation,
    Reading,
    Reason,
    TargetState,
    TargetType,
)
from autoscaler.quantity import format_decimal


def has_fallback(scaler: Autoscaler) -> bool:
    """Whether any of its metrics has one."""
    for metric in scaler.metrics:  # noqa: SIM110 - every decision asks: a loop makes no generator
        if metric.fallback is not None:
            return True
    return False


class _Followed(NamedTuple):
    """A metric with a fallback, and what is known of its failure."""

    position: int
    metric: MetricSpec
    fallback: Fallback
    number: int
    """Its place among the metrics of its type and name."""
    known: MetricFailure | None

    def failure(self, now: datetime, state: FallbackState) -> MetricFailure:
        """That it has no value at `now`."""
        since = now if self.known is None else self.known.since
        return MetricFailure(self.metric.type, self.metric.name, self.number, since, state)


def _followed(scaler: Autoscaler, known: Iterable[MetricFailure]) -> Iterator[_Followed]:
    failures = {(each.type, each.name, each.number): each for each in known}
    counts: dict[tuple[MetricType, str], int] = {}
    for position, metric in enumerate(scaler.metrics):
        kind = metric.type, metric.name
        number = counts[kind] = counts.get(kind, -1) + 1
        if metric.fallback is not None:
            yield _Followed(position, metric, metric.fallback, number, failures.get((*kind, number)))


def failing_by_readings(
    scaler: Autoscaler, observed: Observation, known: Sequence[MetricFailure], now: datetime
) -> tuple[MetricFailure, ...]:
    """Which metrics have no value in a cycle that computes none, as when the target cannot be read.

    An answer ends a failure here, too: else one that follows much later would count from the earlier one's beginning.
    """
    found = []
    for each in _followed(scaler, known):
        if _is_idle(each.metric, observed):
            continue
        reading = observed.readings[each.position] if observed.readings else None
        if isinstance(reading, MetricError):
            state = FallbackState.WAITING if each.known is None else each.known.fallback
            found.append(each.failure(now, state))
        elif each.known is not None and (reading is None or _has_no_samples(reading)):
            found.append(each.known)  # nobody can tell
    return tuple(found)


def _is_idle(metric: MetricSpec, observed: Observation) -> bool:
    """Whether the metric cannot have a value because nothing runs: that is not a failure of its source."""
    state = observed.target
    return isinstance(state, TargetState) and state.replicas == 0 and metric.type not in WAKING_METRICS


def _has_no_samples(reading: Reading) -> bool:
    return isinstance(reading, InstanceReading) and not reading.samples


def with_fallbacks(
    scaler: Autoscaler,
    observed: Observation,
    state: TargetState,
    outcomes: Sequence[MetricOutcome],
    known: Sequence[MetricFailure],
    now: datetime,
) -> tuple[tuple[MetricOutcome, ...], tuple[MetricFailure, ...]]:
    """The metrics' outcomes with the proposals of the fallbacks that stand in; and which metrics have no value."""
    completed, failing = list(outcomes), []
    for each in _followed(scaler, known):
        outcome = outcomes[each.position]
        if not outcome.failed or _is_idle(each.metric, observed):
            continue
        failure = each.failure(now, FallbackState.WAITING)
        if now - failure.since >= each.fallback.failure_duration:
            outcome = _proposed(scaler, each, outcome, observed, state, now)
            completed[each.position] = outcome
            stands_in = FallbackState.ACTIVE if outcome.on_fallback else FallbackState.FAILED
            failure = each.failure(now, stands_in)
        failing.append(failure)
    return tuple(completed), tuple(failing)


def _proposed(
    scaler: Autoscaler,
    followed: _Followed,
    failed: MetricOutcome,
    observed: Observation,
    state: TargetState,
    now: datetime,
) -> MetricOutcome:
    """The outcome of a metric without a value with its fallback's proposal; without one where that failed, too."""
    fallback = followed.fallback
    if fallback.replicas is not None:
        wanted, detail = fallback.replicas, f"fallback: {fallback.replicas} replicas"
    else:
        reading = observed.fallbacks[followed.position] if observed.fallbacks else None
        if reading is None:
            reading = MetricError("it was not asked")
        asked = propose(followed.metric, reading, state, scaler.options, tolerances_of(scaler), now)
        if asked.proposal is None:
            return replace(failed, error=f"{failed.error}; the query of its fallback failed, too: {asked.error}")
        wanted, detail = asked.proposal, f"fallback's query: {_value(asked)}{asked.detail}"
    if wanted < state.replicas and not fallback.allow_scale_in:
        wanted, detail = state.replicas, f"{detail}; not below the current size without allowScaleIn"
    return replace(failed, proposal=wanted, detail=detail)


def _value(outcome: MetricOutcome) -> str:
    """What was read, before how the proposal came about; nothing where there is no instance to share it."""
    value = outcome.current
    if value is None:
        return ""
    utilization = outcome.target.type is TargetType.UTILIZATION
    return f"{value}%, " if utilization else f"{format_decimal(value)}, "


def condition_of(scaler: Autoscaler, failing: Sequence[MetricFailure]) -> tuple[bool, Reason, str]:
    """Status, reason and message of the condition MetricFallbackActive."""
    if not failing:
        return False, Reason.METRICS_AVAILABLE, "every metric with a fallback has a value"
    states = {each.fallback for each in failing}
    message = "; ".join(_sentence(each, each.known) for each in _followed(scaler, failing) if each.known is not None)
    if FallbackState.ACTIVE in states:
        return True, Reason.METRIC_UNAVAILABLE, message
    if FallbackState.FAILED in states:
        return False, Reason.FALLBACK_QUERY_FAILED, message
    return False, Reason.FALLBACK_PENDING, message


def _sentence(followed: _Followed, failure: MetricFailure) -> str:
    without = f"{describe(followed.metric)} has had no value since {_time(failure.since)}"
    match failure.fallback:
        case FallbackState.WAITING:
            begins = failure.since + followed.fallback.failure_duration
            return f"{without}; its fallback stands in from {_time(begins)} on"
        case FallbackState.ACTIVE:
            return f"{without}; its fallback stands in for it"
        case FallbackState.FAILED:
            return f"{without}; its fallback cannot stand in, because its query failed, too"


def _time(at: datetime) -> str:
    return at.isoformat(timespec="seconds")


def events_of(scaler: Autoscaler, before: Sequence[MetricFailure], after: Sequence[MetricFailure]) -> Iterator[Event]:
    """That fallbacks began to stand in, or ceased to."""
    for had, has in zip(_followed(scaler, before), _followed(scaler, after), strict=True):
        was_active, is_active = _is_active(had), _is_active(has)
        if was_active == is_active:
            continue
        if has.known is None:
            sentence = f"the fallback of {describe(has.metric)} is not needed any more"
            yield Event(EventType.NORMAL, Reason.METRIC_FALLBACK_ENDED, sentence)
        else:
            reason = Reason.METRIC_FALLBACK_STARTED if is_active else Reason.METRIC_FALLBACK_ENDED
            yield Event(EventType.WARNING, reason, _sentence(has, has.known))


def _is_active(followed: _Followed) -> bool:
    return followed.known is not None and followed.known.fallback is FallbackState.ACTIVE
