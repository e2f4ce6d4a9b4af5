"""Fallbacks replace a metric that has had no value for a while.

Source: as KEP-5679 of Kubernetes proposes, "Fallback for HPA on failure to retrieve metrics"; it is in no release. The
duration counts from the first failure to the next value, and the fallback's size is one proposal among the others.
Never proposing less than the current size is this project's addition.
"""

import dataclasses
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any, Final, NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from autoscaler.fields.find_values import Loc
from autoscaler.hpa.proposals import Measured, describe, nothing_runs, propose
from autoscaler.model import (
    Autoscaler,
    Event,
    EventType,
    Failure,
    InstanceReading,
    MetricOutcome,
    MetricSpec,
    MetricType,
    Observation,
    Query,
    Reading,
    TargetState,
    TargetType,
)
from autoscaler.quantity import format_decimal
from autoscaler.rules.fallback.keys import InstanceMetricKeys, MetricFallback, ShownFallback, TotalMetricKeys
from autoscaler.rules.rule import Cycle, Rule, RuleCondition, Said, Written, plain_metrics
from autoscaler.text import count
from autoscaler.times import time_text

METRIC_UNAVAILABLE: Final = "MetricUnavailable"
"""Of the condition: a fallback stands in for a metric."""
FALLBACK_QUERY_FAILED: Final = "FallbackQueryFailed"
"""Of the condition: it would, and its own query failed, too."""
FALLBACK_PENDING: Final = "FallbackPending"
"""Of the condition: a metric has no value, and its failure duration has not passed."""
METRICS_AVAILABLE: Final = "MetricsAvailable"
"""Of the condition: every metric with a fallback has a value."""
FALLBACK_STARTED: Final = "MetricFallbackStarted"
"""Of an event."""
FALLBACK_ENDED: Final = "MetricFallbackEnded"
"""Of an event."""


class FallbackState(StrEnum):
    """Whether the fallback of a metric without a value stands in for it."""

    WAITING = "waiting"
    """Not yet: its failure duration has not passed."""
    ACTIVE = "active"
    FAILED = "failed"
    """It should, and its own query failed, too."""


class MetricFailure(Struct, frozen=True, gc=False):
    """A metric with a fallback that has no value. Kept from cycle to cycle until it has one again."""

    type: MetricType
    name: str
    number: int
    """Its place among the autoscaler's metrics of this type and name, from 0."""
    since: datetime
    """The first cycle in which it had none."""
    fallback: FallbackState


class FallbackMemory(Struct, frozen=True, gc=False):
    """The metrics with a fallback that have no value."""

    failing: tuple[MetricFailure, ...] = ()


@dataclass(frozen=True, slots=True)
class Fallbacks(Rule):
    """The fallbacks of an autoscaler's metrics."""

    name = "fallback"
    instance_metric_keys = InstanceMetricKeys
    total_metric_keys = TotalMetricKeys
    memory = FallbackMemory
    documents = (ShownFallback,)
    condition = "MetricFallbackActive"
    warns = (METRIC_UNAVAILABLE,)
    fails = (FALLBACK_QUERY_FAILED,)

    of: tuple[MetricFallback | None, ...]
    """One for each metric; None: without a value the metric proposes nothing."""

    @classmethod
    def configured(cls, written: Written[Any]) -> "Fallbacks | None":
        """Return the fallbacks of the metrics that have one; None: none has."""
        found = [each.fallback for each in written.metrics]
        if not any(found):
            return None
        return cls(tuple([None if each is None else each.spec(written.queries) for each in found]))

    @classmethod
    def plain_problems(cls, body: Mapping[str, Any]) -> Iterator[tuple[Loc, str]]:
        """Yield the fallbacks above maxReplicas."""
        maximum = body.get("maxReplicas")
        for loc, metric in plain_metrics(body):
            fallback = metric.get("fallback")
            replicas = fallback.get("replicas") if isinstance(fallback, dict) else None
            if type(replicas) is int and type(maximum) is int and replicas > maximum > 0:
                message = f"{replicas} is above maxReplicas {maximum}; lower it, or raise maxReplicas"
                yield (*loc, "fallback", "replicas"), message

    @property
    def times(self) -> Iterable[timedelta]:
        """How long a metric must have had no value."""
        return [each.failure_duration for each in self.of if each is not None]

    @property
    def queries(self) -> Iterable[Query]:
        """The queries of the fallbacks that have one."""
        return [each.query for each in self.of if each is not None and each.query is not None]

    def within(self, ceiling: int) -> "Fallbacks":
        """Return the fallbacks, each with `replicas` lowered to the ceiling if they are above it."""
        return self._each(
            lambda one: one if one.replicas is None else dataclasses.replace(one, replicas=min(one.replicas, ceiling))
        )

    def with_queries(self, change: Callable[[Query], Query]) -> "Fallbacks":
        """Return the fallbacks with their queries changed."""
        return self._each(lambda one: one if one.query is None else dataclasses.replace(one, query=change(one.query)))

    def _each(self, change: Callable[[MetricFallback], MetricFallback]) -> "Fallbacks":
        return Fallbacks(tuple([None if one is None else change(one) for one in self.of]))

    def follow(self, cycle: Cycle, memory: FallbackMemory | None) -> Said:
        """Find the metrics that have no value from the readings alone. `outcomes` refines the result."""
        known = () if memory is None else memory.failing
        return self._said(cycle, self._failing_by_readings(cycle, known))

    def outcomes(self, cycle: Cycle, measured: Sequence[Measured], said: Said) -> tuple[Sequence[Measured], Said]:
        """Return the outcomes with the fallbacks' proposals. The metrics keep their errors."""
        state = cycle.state
        if state is None:
            return measured, said
        memory = cycle.history.rules.find(self.name, FallbackMemory)
        completed, failing = list(measured), []
        for each in self._tracked(cycle, () if memory is None else memory.failing):
            outcome = measured[each.position].outcome
            if not outcome.failed or _is_idle(each.metric, cycle.observed):
                continue
            failure = each.failure(cycle.now, FallbackState.WAITING)
            if cycle.now - failure.since >= each.fallback.failure_duration:
                outcome = _proposed(cycle, state, each, outcome)
                proposer = f"the fallback of {describe(outcome)}"
                completed[each.position] = Measured(outcome, source=self.name, proposer=proposer)
                stands_in = FallbackState.ACTIVE if outcome.on_fallback else FallbackState.FAILED
                failure = each.failure(cycle.now, stands_in)
            failing.append(failure)
        return completed, self._said(cycle, tuple(failing))

    def _failing_by_readings(self, cycle: Cycle, known: Sequence["MetricFailure"]) -> tuple["MetricFailure", ...]:
        """Return the metrics without a value in a cycle that computes none, as when the target cannot be read.

        An answer ends a failure here too. Otherwise a later failure would count from the start of the earlier one.
        """
        found, observed = [], cycle.observed
        for each in self._tracked(cycle, known):
            if _is_idle(each.metric, observed):
                continue
            reading = observed.readings[each.position] if observed.readings else None
            if isinstance(reading, Failure):
                state = FallbackState.WAITING if each.known is None else each.known.fallback
                found.append(each.failure(cycle.now, state))
            elif each.known is not None and (reading is None or _has_no_samples(reading)):
                found.append(each.known)  # unknown: keep the known failure
        return tuple(found)

    def _tracked(self, cycle: Cycle, known: Iterable["MetricFailure"]) -> Iterator["_TrackedMetric"]:
        failures = {(each.type, each.name, each.number): each for each in known}
        counts: dict[tuple[MetricType, str], int] = {}
        for position, (metric, fallback) in enumerate(zip(cycle.scaler.metrics, self.of, strict=True)):
            kind = metric.type, metric.name
            number = counts[kind] = counts.get(kind, -1) + 1
            if fallback is not None:
                yield _TrackedMetric(position, metric, fallback, number, failures.get((*kind, number)))

    def _said(self, cycle: Cycle, failing: tuple["MetricFailure", ...]) -> Said:
        memory = cycle.history.rules.find(self.name, FallbackMemory)
        before = () if memory is None else memory.failing
        if not before and not failing:  # as in most cycles
            return _ALL_AVAILABLE
        events = _events(self._tracked(cycle, before), self._tracked(cycle, failing))
        memory = FallbackMemory(failing) if failing else None
        return Said(memory, tuple(events), _condition(failing, self._tracked(cycle, failing)))


_AVAILABLE: Final = RuleCondition(False, METRICS_AVAILABLE, "every metric with a fallback has a value")
_ALL_AVAILABLE: Final = Said(condition=_AVAILABLE)


def fallback_queries(scaler: Autoscaler) -> tuple[Query | None, ...]:
    """Return the query of each metric's fallback; None: it has none."""
    rule = scaler.rules.find(Fallbacks)
    if rule is None:
        return (None,) * len(scaler.metrics)
    return tuple([None if each is None else each.query for each in rule.of])


class _TrackedMetric(NamedTuple):
    """A metric with a fallback, and its last known failure."""

    position: int
    metric: MetricSpec
    fallback: MetricFallback
    number: int
    """The metric's place among those of the same type and name."""
    known: MetricFailure | None

    def failure(self, now: datetime, state: FallbackState) -> MetricFailure:
        """Return the failure of this metric at `now`."""
        since = now if self.known is None else self.known.since
        return MetricFailure(self.metric.type, self.metric.name, self.number, since, state)


def _is_idle(metric: MetricSpec, observed: Observation) -> bool:
    """Return whether the metric has no value because nothing runs, which is not a failure of its source."""
    return isinstance(observed.target, TargetState) and nothing_runs(metric, observed.target)


def _has_no_samples(reading: Reading) -> bool:
    return isinstance(reading, InstanceReading) and not reading.samples


def _proposed(cycle: Cycle, state: TargetState, tracked: _TrackedMetric, failed: MetricOutcome) -> MetricOutcome:
    """Return the failed outcome with its fallback's proposal, or without one if the fallback's query failed too."""
    fallback, observed = tracked.fallback, cycle.observed
    if fallback.replicas is not None:
        wanted, detail = fallback.replicas, f"fallback: {count(fallback.replicas, 'replica')}"
    else:
        reading = observed.fallbacks[tracked.position] if observed.fallbacks else None
        if reading is None:
            reading = Failure("the daemon did not run its query")
        asked = propose(cycle.scaler, tracked.metric, reading, state, cycle.now, cycle.set_aside).outcome
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


def _condition(failing: Sequence[MetricFailure], tracked: Iterable[_TrackedMetric]) -> RuleCondition:
    """Return the condition MetricFallbackActive."""
    if not failing:
        return _AVAILABLE
    states = {each.fallback for each in failing}
    message = "; ".join(_sentence(each, each.known) for each in tracked if each.known is not None)
    if FallbackState.ACTIVE in states:
        return RuleCondition(True, METRIC_UNAVAILABLE, message)
    if FallbackState.FAILED in states:
        return RuleCondition(False, FALLBACK_QUERY_FAILED, message)
    return RuleCondition(False, FALLBACK_PENDING, message)


def _sentence(tracked: _TrackedMetric, failure: MetricFailure) -> str:
    without = f"{describe(tracked.metric)} has had no value since {time_text(failure.since)}"
    match failure.fallback:
        case FallbackState.WAITING:
            begins = failure.since + tracked.fallback.failure_duration
            return f"{without}; its fallback takes effect at {time_text(begins)}"
        case FallbackState.ACTIVE:
            return f"{without}; its fallback is in effect"
        case FallbackState.FAILED:
            return f"{without}; its fallback has no effect, because its query failed too"


def _events(before: Iterable[_TrackedMetric], after: Iterable[_TrackedMetric]) -> Iterator[Event]:
    """Yield an event for each fallback that became active or stopped being active."""
    for had, has in zip(before, after, strict=True):
        was_active, is_active = _is_active(had), _is_active(has)
        if was_active == is_active:
            continue
        if has.known is None:
            sentence = f"the fallback of {describe(has.metric)} is no longer needed"
            yield Event(EventType.NORMAL, FALLBACK_ENDED, sentence)
        else:
            reason = FALLBACK_STARTED if is_active else FALLBACK_ENDED
            yield Event(EventType.WARNING, reason, _sentence(has, has.known))


def _is_active(tracked: _TrackedMetric) -> bool:
    return tracked.known is not None and tracked.known.fallback is FallbackState.ACTIVE
