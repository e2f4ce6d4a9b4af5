"""The result of all metrics of an autoscaler in one cycle."""

from collections.abc import Sequence
from datetime import datetime

from autoscaler.hpa.instances import NOTHING_ASIDE, SetAside
from autoscaler.hpa.proposals import FAILURE_REASONS, Measured, describe, propose
from autoscaler.model import Autoscaler, Event, EventType, MetricOutcome, Observation, TargetState


def measure(
    scaler: Autoscaler,
    observed: Observation,
    state: TargetState,
    now: datetime,
    set_aside: SetAside = NOTHING_ASIDE,
) -> tuple[Measured, ...]:
    """Return what each metric proposes, in the order of the autoscaler's metrics."""
    return tuple(
        [
            propose(scaler, metric, reading, state, now, set_aside)
            for metric, reading in zip(scaler.metrics, observed.readings, strict=True)
        ]
    )


def failures(outcomes: Sequence[MetricOutcome]) -> tuple[tuple[Event, ...], str | None]:
    """Return an event for each metric that failed, and a sentence that counts them; None: no metric failed."""
    failed = [(each, f"{describe(each)}: {each.error}") for each in outcomes if each.error is not None]
    if not failed:
        return (), None
    events = [Event(EventType.WARNING, FAILURE_REASONS[each.type], text) for each, text in failed]
    error = f"{len(failed)} of {len(outcomes)} metrics failed, first {failed[0][1]}"
    return tuple(events), error


def decisive(measured: Sequence[Measured], size: int) -> Measured | None:
    """Return the metric that decides at `size`: the one with the largest proposal; None: there are no metrics.

    If a metric has no proposal and the largest one is below `size`, it is the first metric without one, because the
    size must not fall then.
    """
    winner: Measured | None = None
    without: Measured | None = None
    largest = -1
    for each in measured:
        proposal = each.outcome.proposal
        if proposal is None:
            without = without or each
        elif proposal > largest:
            winner, largest = each, proposal
    return winner if without is None or largest >= size else without
