"""Explains one decision: what was read, the result, what limited it, and what would have to change."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING

from msgspec.structs import replace

from autoscaler.decide import remember
from autoscaler.document import QueryDocument
from autoscaler.foresee import outlook
from autoscaler.foresee.thresholds import Thresholds, thresholds
from autoscaler.model import (
    CONNECTION_LIMITS,
    Autoscaler,
    Bounds,
    Decision,
    Direction,
    Failure,
    History,
    InstanceReading,
    MetricOutcome,
    Observation,
    Reading,
    Reason,
    Step,
    TargetState,
    TargetType,
    ValueReading,
)
from autoscaler.record import Record
from autoscaler.rules import plan_of
from autoscaler.view.explanation import (
    Allowance,
    BoundsDocument,
    ExplainedMetric,
    Explanation,
    MoveDocument,
    Samples,
    Stabilization,
    StepDocument,
    ThresholdDocument,
    Way,
)
from autoscaler.view.instances import instances
from autoscaler.view.last_value import LastValue, MetricKey
from autoscaler.view.metric import decimal, metric, number, scale_of
from autoscaler.view.parts import memory_keys
from autoscaler.view.rules import query_document
from autoscaler.view.sentences import sentences, way_text
from autoscaler.view.steering import SteeringDocument
from autoscaler.view.summary import conditions
from autoscaler.view.verdict import direction as direction_of
from autoscaler.view.verdict import resting, winner

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
    decision, scaler, observed, before = record.decision, record.scaler, record.observation, record.history
    case = _case(record)
    document = Explanation.of(
        decision,
        reference=str(decision.target),
        at=decision.now,
        outcome=None if decision.outcome is None else type(decision.outcome).__name__,
        metrics=_metrics(record, case, sources, last),
        trace=_steps(decision.trace),
        conditions=conditions(decision),
        bounds=None if observed is None or decision.bounds is None else _bounds(decision.bounds),
        stabilization=None if before is None else _stabilization(decision, before, scaler),
        policies=() if case is None else case.policies(),
        steering=SteeringDocument.of(decision.manual),
        if_unchanged=None if case is None else case.if_unchanged(),
        ways=() if case is None else tuple([_with_text(way, decision) for way in case.ways()]),
        detailed=case is not None,
        instances=instances(record),
        warnings=decision.warnings,
        lines=(),
        **memory_keys(decision),
    )
    return document.model_copy(update={"lines": sentences(document)})


def _with_text(way: Way, decision: Decision) -> Way:
    return way.model_copy(update={"text": way_text(way, moves=not decision.dry_run)})


def _case(record: Record) -> "_Case | None":
    """Return None if the decision's inputs are no longer known."""
    decision, scaler, observed = record.decision, record.scaler, record.observation
    if observed is None or record.history is None:
        return None
    after = remember(scaler, record.history, decision)
    return _Case(scaler, decision, observed, after, _thresholds(scaler, decision, observed))


@dataclass(frozen=True, slots=True)
class _Case:
    """A decision, the history after it, and the thresholds of its metrics."""

    scaler: Autoscaler
    decision: Decision
    observed: Observation
    after: History
    thresholds: Sequence[Thresholds | None]

    @property
    def size(self) -> int | None:
        """Return the size after the decision; None: the target could not be read."""
        decision = self.decision
        return decision.current if decision.written is None else decision.written

    def policies(self) -> tuple[Allowance, ...]:
        behavior, size, now = self.scaler.behavior, self.size, self.decision.now
        if behavior is None or size is None:
            return ()
        found = []
        for direction in (Direction.OUT, Direction.IN):
            coming = outlook.next_allowance(size, behavior, self.after, direction, now)
            found.append(
                Allowance(
                    direction=direction,
                    size=outlook.allowed(size, behavior, self.after, direction, now),
                    next_size=None if coming is None else coming[1],
                    next_seconds=None if coming is None else coming[0] - now,
                )
            )
        return tuple(found)

    def if_unchanged(self) -> MoveDocument | None:
        """Return the first change if every further cycle reads the same values.

        None after a write, because the metrics will differ at the new size, and while the connection's limits apply.
        """
        if self.decision.change is not None or self._shared_limits():
            return None  # the end of a connection's limits depends on all of its autoscalers
        return self._document(self._forecast(self.observed).move)

    def ways(self) -> tuple[Way, ...]:
        outcomes, state = self.decision.metrics, self.observed.target
        if not outcomes or not isinstance(state, TargetState) or self.decision.written is not None:
            return ()
        rests = resting(self.decision)
        for rule in plan_of(self.scaler.rules).rules:
            if rule.name == rests:
                return (self._way_to_work(rule.ends_rest(self.scaler)),)
        return (self._way(Direction.OUT, outcomes), self._way(Direction.IN, outcomes))

    def _way_to_work(self, needed: Sequence[tuple[str, Reading] | None]) -> Way:
        """Return how a target that needs nothing begins to work: one of its metrics has such a value."""
        ahead = self._forecast(self._observing([None if each is None else each[1] for each in needed]))
        return Way(
            direction=Direction.OUT,
            when=tuple([each[0] for each in needed if each is not None]),
            met=(),
            hurdles=_steps(ahead.hurdles),
            earliest=self._document(self._towards(Direction.OUT, ahead.move)),
        )

    def _way(self, direction: Direction, outcomes: Sequence[MetricOutcome]) -> Way:
        """Scale-out needs one metric that asks for more; scale-in needs all to ask for less. Some may do so already."""
        out = direction is Direction.OUT
        asking = [self._asks(outcome, direction) for outcome in outcomes]
        tried = [_just_past(each, direction) for each in self.thresholds]
        if out and any(asking):
            needed = [False] * len(outcomes)
        elif out:
            needed = [reading is not None for reading in tried]
        else:
            needed = [not holds for holds in asking]
        met = tuple([self._condition(place, direction) for place, holds in enumerate(asking) if holds])
        unreachable = not out and any(need and reading is None for need, reading in zip(needed, tried, strict=True))
        if unreachable or not (met or any(needed)):
            return Way(direction=direction, when=(), met=met, hurdles=(), earliest=None)
        readings = [reading if need else None for need, reading in zip(needed, tried, strict=True)]
        ahead = self._forecast(self._observing(readings))
        shared = [step for step in self._shared_limits() if (step.after < step.before) is out]
        return Way(
            direction=direction,
            when=tuple([self._condition(place, direction) for place, need in enumerate(needed) if need]),
            met=met,
            hurdles=_steps([*ahead.hurdles, *shared]),
            earliest=None if shared else self._document(self._towards(direction, ahead.move)),
        )

    def _towards(self, direction: Direction, move: outlook.Move | None) -> outlook.Move | None:
        """Return the move if it has this direction: the windows' recommendations may lead in the other one first."""
        return move if move is not None and direction_of(self.decision.current, move.size) is direction else None

    def _asks(self, outcome: MetricOutcome, direction: Direction) -> bool:
        """Return whether the metric asks for another size in this direction."""
        return direction_of(self.decision.current, outcome.proposal) is direction

    def _shared_limits(self) -> Sequence[Step]:
        """Return the steps of the connection's limits."""
        return [step for step in self.decision.trace if step.reason in CONNECTION_LIMITS]

    def _condition(self, place: int, direction: Direction) -> str:
        """Return the value at which one metric asks for another size, or its present one: `average queue above 22`."""
        outcome, known = self.decision.metrics[place], self.thresholds[place]
        out = direction is Direction.OUT
        limit = None if known is None else known.above if out else known.below
        subject = _subject(outcome)
        word = "above" if out else "below"
        wanted = "" if limit is None else f" {word} {_limit(limit, outcome)}"
        only_zero = limit == 1 and not out  # only 0 is below the smallest value
        if not self._asks(outcome, direction):
            return f"{subject} 0" if only_zero else f"{subject}{wanted}"
        if only_zero:
            wanted = ""
        present = "" if outcome.current is None else f" {_limit(outcome.current, outcome)}"
        return f"{subject}{present}{wanted and ','}{wanted}, asks for {outcome.proposal}"

    def _observing(self, readings: Sequence[Reading | None]) -> Observation:
        observed = self.observed
        return replace(
            observed,
            readings=tuple([new or old for new, old in zip(readings, observed.readings, strict=True)]),
        )

    def _forecast(self, observed: Observation) -> outlook.Forecast:
        scaler, now = self.scaler, self.decision.now
        horizon = max(outlook.lookback(scaler), scaler.options.cpu_initialization_period)
        return outlook.forecast(scaler, observed, self.after, now, horizon)

    def _document(self, move: outlook.Move | None) -> MoveDocument | None:
        if move is None:
            return None
        ahead = move.at - self.decision.now
        return MoveDocument(at=move.at, in_seconds=ahead, size=move.size, reason=move.reason)


def _just_past(known: Thresholds | None, direction: Direction) -> Reading | None:
    """Return the reading just past a metric's threshold; None: it has no threshold."""
    if known is None:
        return None
    return known.reading_above if direction is Direction.OUT else known.reading_below


def _subject(outcome: MetricOutcome) -> str:
    return outcome.name if outcome.target.type is TargetType.VALUE else f"average {outcome.name}"


def _limit(value: int, outcome: MetricOutcome) -> str:
    return decimal(value / scale_of(outcome.target.type), outcome.target.type)


def _thresholds(scaler: Autoscaler, decision: Decision, observed: Observation) -> Sequence[Thresholds | None]:
    state = observed.target
    if not decision.metrics or not isinstance(state, TargetState):
        return ()
    return [
        thresholds(scaler, spec, reading, outcome, state, decision.now)
        for spec, reading, outcome in zip(scaler.metrics, observed.readings, decision.metrics, strict=True)
    ]


def _metrics(
    record: Record,
    case: _Case | None,
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
    plain = metric(outcome)
    return ExplainedMetric(
        **dict(plain),
        ratio=outcome.ratio if outcome.ratio is None or abs(outcome.ratio) < float("inf") else None,
        proposal=outcome.proposal,
        detail=outcome.detail,
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


def _steps(trace: Sequence[Step]) -> tuple[StepDocument, ...]:
    return tuple(map(StepDocument.of, trace))


def _bounds(bounds: Bounds) -> BoundsDocument:
    low, high = bounds.minimum, bounds.maximum
    return BoundsDocument(minimum=low.size, maximum=high.size, minimum_of=low.of, maximum_of=high.of)


def _stabilization(decision: Decision, before: History, scaler: Autoscaler) -> Stabilization | None:
    hold = outlook.stabilizing_recommendation(decision, before.hpa.recommendations, scaler)
    if hold is None:
        return None
    down = any(step.reason == Reason.SCALE_DOWN_STABILIZED for step in decision.trace)
    return Stabilization(
        direction=Direction.IN if down else Direction.OUT,
        recommendation=hold.replicas,
        until=hold.until,
        remaining_seconds=hold.until - decision.now,
    )
