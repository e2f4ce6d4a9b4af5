"""Explains one decision: what was read, the result, what limited it, and what would have to change."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING

from autoscaler.document import QueryDocument
from autoscaler.foresee.thresholds import Thresholds
from autoscaler.model import Bounds, Failure, InstanceReading, MetricOutcome, Reading, ValueReading
from autoscaler.record.values import Record
from autoscaler.view import ahead
from autoscaler.view.ahead import Ahead
from autoscaler.view.explanation import BoundsDocument, ExplainedMetric, Explanation, Samples, ThresholdDocument, steps
from autoscaler.view.instances import instances
from autoscaler.view.last_value import LastValue, MetricKey
from autoscaler.view.metric import metric
from autoscaler.view.notation import number
from autoscaler.view.parts import memory_keys
from autoscaler.view.rules import query_document
from autoscaler.view.steering import SteeringDocument
from autoscaler.view.story import story
from autoscaler.view.summary import conditions
from autoscaler.view.verdict import winner

if TYPE_CHECKING:  # the command line reads the daemon's documents without the configuration's loader
    from autoscaler.config.settings import PrometheusSource


def explanation(
    record: Record,
    sources: "Mapping[str, PrometheusSource]" = MappingProxyType({}),
    last: Mapping[MetricKey, LastValue] = MappingProxyType({}),
) -> Explanation:
    """Return the explanation of one decision, as far as its inputs are still known.

    `sources`: the configuration's, for links to queries. `last`: the last values of the metrics that failed.
    """
    decision, observed = record.decision, record.observation
    case = Ahead.of(record)
    document = Explanation.of(
        decision,
        reference=str(decision.target),
        at=decision.now,
        outcome=None if decision.outcome is None else type(decision.outcome).__name__,
        metrics=_metrics(record, case, sources, last),
        trace=steps(decision.trace),
        conditions=conditions(decision),
        bounds=None if observed is None or decision.bounds is None else _bounds(decision.bounds),
        stabilization=None if case is None else case.stabilization(),
        policies=() if case is None else case.policies(),
        steering=SteeringDocument.of(decision.manual),
        if_unchanged=None if case is None else case.if_unchanged(),
        ways=() if case is None else case.ways(),
        detailed=case is not None,
        instances=instances(record),
        warnings=decision.warnings,
        lines=(),
        story=(),
        **memory_keys(decision),
    )
    told = (*story(record, last), *ahead.lines(document))
    return document.model_copy(update={"story": told, "lines": tuple([each.sentence for each in told])})


def _metrics(
    record: Record,
    case: Ahead | None,
    sources: "Mapping[str, PrometheusSource]",
    last: Mapping[MetricKey, LastValue],
) -> tuple[ExplainedMetric, ...]:
    outcomes, followed = record.decision.metrics, winner(record.decision)
    readings: Sequence[Reading | Failure | None] = [None] * len(outcomes)
    limits: Sequence[Thresholds | None] = [None] * len(outcomes)
    if case is not None and record.observation is not None and outcomes:
        readings, limits = record.observation.readings, case.thresholds
    specs = record.scaler.metrics if outcomes else ()
    return tuple(
        [
            _metric(
                outcome,
                reading,
                limit,
                query_document(spec.query, sources),
                last.get((outcome.name, outcome.target.type)),
                wins=outcome is followed,
            )
            for outcome, reading, limit, spec in zip(outcomes, readings, limits, specs, strict=True)
        ]
    )


def _unmatched(outcome: MetricOutcome) -> tuple[str, ...]:
    """Return the samples that match no instance: some names, then the number of others."""
    more = outcome.more_unmatched
    return (*outcome.unmatched, f"and {more} more") if more else outcome.unmatched


def _metric(
    outcome: MetricOutcome,
    reading: Reading | Failure | None,
    limits: Thresholds | None,
    query: QueryDocument,
    last: LastValue | None,
    *,
    wins: bool,
) -> ExplainedMetric:
    return metric(
        outcome,
        ExplainedMetric,
        ratio=outcome.ratio if outcome.ratio is None or abs(outcome.ratio) < float("inf") else None,
        wins=wins,
        query=query,
        last=last,
        samples=Samples.of(outcome, read=_read(reading), unmatched=_unmatched(outcome), warming=outcome.aside),
        thresholds=None
        if limits is None
        else ThresholdDocument(
            above=number(limits.above, outcome.target.type),
            below=number(limits.below, outcome.target.type),
        ),
    )


def _read(reading: Reading | Failure | None) -> int | None:
    match reading:
        case None:
            return None
        case InstanceReading():
            return len(reading.samples)
        case ValueReading():
            return len(reading.values)
        case Failure():
            return 0


def _bounds(bounds: Bounds) -> BoundsDocument:
    low, high = bounds.minimum, bounds.maximum
    return BoundsDocument(minimum=low.size, maximum=high.size, minimum_of=low.of, maximum_of=high.of)
