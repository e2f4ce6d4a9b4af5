"""Fallbacks replace a metric that has had no value for a while.

As KEP-5679 proposes ("Fallback for HPA on failure to retrieve metrics"); no release of Kubernetes has it. The duration
counts from the first failure to the next value, and the fallback's size is one proposal among the others. Never
proposing less than the current size is this project's addition.
"""

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from typing import NamedTuple

from msgspec.structs import replace

from autoscaler.decide.proposals import describe, nothing_runs, propose
from autoscaler.model import (
    Autoscaler,
    Event,
    EventType,
    Failure,
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
from autoscaler.text import count


def has_fallback(scaler: Autoscaler) -> bool:
    """Return whether any metric has a fallback."""
    for metric in scaler.metrics:  # noqa: SIM110 - runs in every decision; a loop is faster than a generator
        if metric.fallback is not None:
            return True
    return False


class _TrackedMetric(NamedTuple):
    """A metric with a fallback, and its last known failure."""

    position: int
    metric: MetricSpec
    fallback: Fallback
    number: int
    """The metric's place among those of the same type and name."""
    known: MetricFailure | None

    def failure(self, now: datetime, state: FallbackState) -> MetricFailure:
        """Return the failure of this metric at `now`."""
        since = now if self.known is None else self.known.since
        return MetricFailure(self.metric.type, self.metric.name, self.number, since, state)


def _tracked(scaler: Autoscaler, known: Iterable[MetricFailure]) -> Iterator[_TrackedMetric]:
    failures = {(each.type, each.name, each.number): each for each in known}
    counts: dict[tuple[MetricType, str], int] = {}
    for position, metric in enumerate(scaler.metrics):
        kind = metric.type, metric.name
        number = counts[kind] = counts.get(kind, -1) + 1
        if metric.fallback is not None:
            yield _TrackedMetric(position, metric, metric.fallback, number, failures.get((*kind, number)))


def failing_by_readings(
    scaler: Autoscaler, observed: Observation, known: Sequence[MetricFailure], now: datetime
) -> tuple[MetricFailure, ...]:
    """Return the metrics without a value in a cycle that computes none, for example when the target cannot be read.

    An answer ends a failure here too. Otherwise a later failure would count from the start of the earlier one.
    """
    found = []
    for each in _tracked(scaler, known):
        if _is_idle(each.metric, observed):
            continue
        reading = observed.readings[each.position] if observed.readings else None
        if isinstance(reading, Failure):
            state = FallbackState.WAITING if each.known is None else each.known.fallback
            found.append(each.failure(now, state))
        elif each.known is not None and (reading is None or _has_no_samples(reading)):
            found.append(each.known)  # unknown: keep the known failure
    return tuple(found)


def _is_idle(metric: MetricSpec, observed: Observation) -> bool:
    """Return whether the metric has no value because nothing runs, which is not a failure of its source."""
    return isinstance(observed.target, TargetState) and nothing_runs(metric, observed.target)


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
    """Return the outcomes with the fallbacks' proposals, and the metrics without a value."""
    completed, failing = list(outcomes), []
    for each in _tracked(scaler, known):
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
    tracked: _TrackedMetric,
    failed: MetricOutcome,
    observed: Observation,
    state: TargetState,
    now: datetime,
) -> MetricOutcome:
    """Return the failed outcome with its fallback's proposal, or without one if the fallback's query failed too."""
    fallback = tracked.fallback
    if fallback.replicas is not None:
        wanted, detail = fallback.replicas, f"fallback: {count(fallback.replicas, 'replica')}"
    else:
        reading = observed.fallbacks[tracked.position] if observed.fallbacks else None
        if reading is None:
            reading = Failure("the daemon did not run its query")
        asked = propose(scaler, tracked.metric, reading, state, now)
        if asked.proposal is None:
            return replace(failed, error=f"{failed.error}; the query of its fallback failed too: {asked.error}")
        wanted, detail = asked.proposal, f"fallback's query: {_value(asked)}{asked.detail}"
    if wanted < state.replicas and not fallback.allow_scale_in:
        wanted, detail = state.replicas, f"{detail}; not below the current size without allowScaleIn"
    return replace(failed, proposal=wanted, detail=detail)


def _value(outcome: MetricOutcome) -> str:
    """Format the value that was read; empty without instances to divide it by."""
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
    message = "; ".join(_sentence(each, each.known) for each in _tracked(scaler, failing) if each.known is not None)
    if FallbackState.ACTIVE in states:
        return True, Reason.METRIC_UNAVAILABLE, message
    if FallbackState.FAILED in states:
        return False, Reason.FALLBACK_QUERY_FAILED, message
    return False, Reason.FALLBACK_PENDING, message


def _sentence(tracked: _TrackedMetric, failure: MetricFailure) -> str:
    without = f"{describe(tracked.metric)} has had no value since {_time(failure.since)}"
    match failure.fallback:
        case FallbackState.WAITING:
            begins = failure.since + tracked.fallback.failure_duration
            return f"{without}; its fallback takes effect at {_time(begins)}"
        case FallbackState.ACTIVE:
            return f"{without}; its fallback is in effect"
        case FallbackState.FAILED:
            return f"{without}; its fallback has no effect, because its query failed too"


def _time(at: datetime) -> str:
    return at.isoformat(timespec="seconds")


def events_of(scaler: Autoscaler, before: Sequence[MetricFailure], after: Sequence[MetricFailure]) -> Iterator[Event]:
    """Yield an event for each fallback that became active or stopped being active."""
    for had, has in zip(_tracked(scaler, before), _tracked(scaler, after), strict=True):
        was_active, is_active = _is_active(had), _is_active(has)
        if was_active == is_active:
            continue
        if has.known is None:
            sentence = f"the fallback of {describe(has.metric)} is no longer needed"
            yield Event(EventType.NORMAL, Reason.METRIC_FALLBACK_ENDED, sentence)
        else:
            reason = Reason.METRIC_FALLBACK_STARTED if is_active else Reason.METRIC_FALLBACK_ENDED
            yield Event(EventType.WARNING, reason, _sentence(has, has.known))


def _is_active(tracked: _TrackedMetric) -> bool:
    return tracked.known is not None and tracked.known.fallback is FallbackState.ACTIVE
