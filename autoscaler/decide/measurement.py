"""What all metrics of an autoscaler come to in one cycle, with their fallbacks."""

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

from autoscaler.decide.fallback import has_fallback, with_fallbacks
from autoscaler.decide.idle import with_activity
from autoscaler.decide.proposals import FAILURE_REASONS, describe, nothing_runs, propose
from autoscaler.model import (
    Autoscaler,
    Event,
    EventType,
    History,
    MetricFailure,
    MetricOutcome,
    Observation,
    TargetState,
)


class Measurement(NamedTuple):
    """The metrics of one cycle."""

    outcomes: tuple[MetricOutcome, ...]
    failing: tuple[MetricFailure, ...]
    """The metrics with a fallback that have no value."""
    events: tuple[Event, ...]
    """One for each metric without a value."""
    error: str | None
    """Which metrics have no value."""


def measure(
    scaler: Autoscaler, observed: Observation, state: TargetState, history: History, now: datetime
) -> Measurement:
    """Return what each metric proposes. With a cooldown, metrics of instances propose 0 while nothing runs."""
    outcomes: Sequence[MetricOutcome] = [
        propose(scaler, metric, reading, state, now)
        if scaler.cooldown is None or not nothing_runs(metric, state)
        else MetricOutcome(metric.name, metric.type, metric.target, proposal=0, detail="nothing runs")
        for metric, reading in zip(scaler.metrics, observed.readings, strict=True)
    ]
    failing: tuple[MetricFailure, ...] = ()
    if has_fallback(scaler):
        outcomes, failing = with_fallbacks(scaler, observed, state, outcomes, history.failing, now)
    if scaler.cooldown is not None:
        outcomes = with_activity(outcomes, history.status.metrics)
    failed = [(each, f"{describe(each)}: {each.error}") for each in outcomes if each.error is not None]
    events = [Event(EventType.WARNING, FAILURE_REASONS[each.type], text) for each, text in failed]
    error = f"{len(failed)} of {len(outcomes)} metrics failed, first {failed[0][1]}" if failed else None
    return Measurement(tuple(outcomes), failing, tuple(events), error)


def decisive(outcomes: Sequence[MetricOutcome], size: int) -> MetricOutcome | None:
    """Return the metric with the largest proposal, or the first one without, if that prevents a decision at `size`.

    While a metric has no proposal, the size does not fall.
    """
    winner: MetricOutcome | None = None
    without: MetricOutcome | None = None
    for outcome in outcomes:
        if outcome.proposal is None:
            without = without or outcome
        elif winner is None or winner.proposal is None or outcome.proposal > winner.proposal:
            winner = outcome
    rises = winner is not None and winner.proposal is not None and winner.proposal >= size
    return winner if without is None or rises else without
