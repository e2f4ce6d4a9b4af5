"""What would change the size after a decision."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta

from msgspec.structs import replace

from autoscaler.decide import remember
from autoscaler.foresee import outlook
from autoscaler.foresee.outlook import Allowance, MoveDocument, Stabilization
from autoscaler.foresee.thresholds import Thresholds, thresholds
from autoscaler.model import (
    CONNECTION_LIMITS,
    HPA,
    Autoscaler,
    Decision,
    Direction,
    History,
    MetricOutcome,
    Observation,
    Reading,
    Step,
    TargetState,
    TargetType,
)
from autoscaler.quantity import format_seconds
from autoscaler.record.values import Record
from autoscaler.rules import plan_of
from autoscaler.view.explanation import Explanation, StepDocument, Way, steps
from autoscaler.view.notation import decimal, scale_of
from autoscaler.view.story import Line, ahead_line, note
from autoscaler.view.verdict import direction as direction_of
from autoscaler.view.verdict import resting


@dataclass(frozen=True, slots=True)
class Ahead:
    """A decision, the history after it, and the thresholds of its metrics; and what would change the size."""

    scaler: Autoscaler
    decision: Decision
    observed: Observation
    before: History
    after: History
    thresholds: Sequence[Thresholds | None]

    @classmethod
    def of(cls, record: Record) -> "Ahead | None":
        """Return what would change the size after a decision; None if the decision's inputs are no longer known."""
        decision, scaler, observed = record.decision, record.scaler, record.observation
        if observed is None or record.history is None:
            return None
        after = remember(scaler, record.history, decision)
        return cls(scaler, decision, observed, record.history, after, _thresholds(scaler, decision, observed))

    @property
    def size(self) -> int | None:
        """Return the size after the decision; None: the target could not be read."""
        decision = self.decision
        return decision.current if decision.written is None else decision.written

    def policies(self) -> tuple[Allowance, ...]:
        """Return what the policies of each direction allow; empty without `behavior`."""
        behavior, size, now = self.scaler.behavior, self.size, self.decision.now
        if behavior is None or size is None:
            return ()
        directions = (Direction.OUT, Direction.IN)
        return tuple([outlook.allowance(size, behavior, self.after, each, now) for each in directions])

    def if_unchanged(self) -> MoveDocument | None:
        """Return the first change if every further cycle reads the same values.

        None after a write, because the metrics will differ at the new size, and while the connection's limits apply.
        """
        if self.decision.change is not None or self._shared_limits():
            return None  # the end of a connection's limits depends on all of its autoscalers
        return self._forecast(self.observed).move

    def ways(self) -> tuple[Way, ...]:
        """Return what it takes to scale out, and in. Empty if the metrics were not read, or a size was written."""
        outcomes, state = self.decision.metrics, self.observed.target
        if not outcomes or not isinstance(state, TargetState) or self.decision.written is not None:
            return ()
        rests = resting(self.decision)
        for rule in plan_of(self.scaler.rules).rules:
            if rule.name == rests:
                return (self._told(self._way_to_work(rule.ends_rest(self.scaler))),)
        return tuple([self._told(self._way(each, outcomes)) for each in (Direction.OUT, Direction.IN)])

    def _told(self, way: Way) -> Way:
        size, moves = self.decision.current, not self.decision.dry_run
        return way.model_copy(update={"text": _text(way, size, moves=moves)})

    def stabilization(self) -> Stabilization | None:
        """Return the recommendation that kept the size; None: no window changed it."""
        return outlook.stabilization(self.decision, self.before.hpa.recommendations, self.scaler)

    def _way_to_work(self, needed: Sequence[tuple[str, Reading] | None]) -> Way:
        """Return how a target that needs nothing begins to work: one of its metrics has such a value."""
        ahead = self._forecast(self._observing([None if each is None else each[1] for each in needed]))
        return Way(
            direction=Direction.OUT,
            when=tuple([each[0] for each in needed if each is not None]),
            met=(),
            hurdles=steps(ahead.hurdles),
            earliest=self._towards(Direction.OUT, ahead.move),
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
            hurdles=steps([*ahead.hurdles, *shared]),
            earliest=None if shared else self._towards(direction, ahead.move),
        )

    def _towards(self, direction: Direction, move: MoveDocument | None) -> MoveDocument | None:
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
        subject = outcome.name if outcome.target.type is TargetType.VALUE else f"average {outcome.name}"
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


def _just_past(known: Thresholds | None, direction: Direction) -> Reading | None:
    """Return the reading just past a metric's threshold; None: it has no threshold."""
    if known is None:
        return None
    return known.reading_above if direction is Direction.OUT else known.reading_below


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


def lines(ahead: Explanation) -> Iterator[Line]:
    """Yield what would change the size of an explained decision, in sentences."""
    moves, course = not ahead.dry_run, _course(ahead)
    if ahead.if_unchanged is not None:
        yield ahead_line(_next_step(ahead, ahead.if_unchanged, course))
    if course is not None:
        said = {(step.source, step.reason) for step in ahead.trace}
        new = [step for step in course.hurdles if (step.source, step.reason) not in said]
        yield from [note(_hurdle(step, course, ahead.current, moves=moves)) for step in new]
    hold = ahead.stabilization
    if hold is not None:
        yield ahead_line(f"The recommendation {hold.recommendation} leaves the window {_in(hold.remaining_seconds)}.")
    for way in ahead.ways:
        if way.text and way is not course:
            first, *hurdles = way.text.split("\n")
            yield ahead_line(first)
            yield from [note(hurdle.strip()) for hurdle in hurdles]
    for each in ahead.policies:
        next_size = None if ahead.if_unchanged is None else ahead.if_unchanged.size
        told = course is not None and (course.direction, next_size) == (each.direction, each.next_size)
        if each.next_size is not None and each.next_seconds is not None and not told:
            to = "up to" if each.direction is Direction.OUT else "down to"
            later = f"{each.next_size} {_in(each.next_seconds)}"
            yield ahead_line(f"The policies allow {to} {each.size} now, and {later}.")
    yield from _without_value(ahead)


def _course(ahead: Explanation) -> Way | None:
    """Return the way that leads to the next change if nothing changes; None: the metrics ask for no such change."""
    if ahead.if_unchanged is None:
        return None
    return next((way for way in ahead.ways if not way.when and way.earliest == ahead.if_unchanged), None)


def _next_step(ahead: Explanation, move: MoveDocument, course: Way | None) -> str:
    """Return the next change if nothing changes, and the size beyond it that HPA's windows and policies lead to."""
    wanted = [each.proposal for each in ahead.metrics if each.proposal is not None]
    if ahead.dry_run:
        return f"If nothing changes, a dry run would go to {_move(move)}."
    if course is not None and ahead.bounds is not None and all(step.source == HPA for step in course.hurdles):
        end = min(max([*wanted, ahead.bounds.minimum]), ahead.bounds.maximum)
        if direction_of(move.size, end) is course.direction:
            return f"On its way from {ahead.current} to {end}: the next step is {move.size}, {_in(move.in_seconds)}."
    return f"If nothing changes, it goes to {_move(move)}."


def _without_value(ahead: Explanation) -> Iterator[Line]:
    """Yield what metrics without a value prevent: a scale-in, or any change if no metric has a value."""
    without = [each.name for each in ahead.metrics if each.proposal is None and each.error is not None]
    have = "has" if len(without) == 1 else "have"
    if not without:
        return
    if len(without) < len(ahead.metrics):
        yield ahead_line(f"Nothing is scaled in while {', '.join(without)} {have} no value.")
    elif ahead.if_unchanged is None:  # else a fallback sets the size
        yield ahead_line(f"The size stays until {' or '.join(without)} has a value.")


def _text(way: Way, size: int | None, *, moves: bool) -> str:
    """Return what a change of size takes, then what is in the way, a line each.

    `size`: the present one. `moves`: a change would be followed.
    """
    out = way.direction is Direction.OUT
    parts = []
    if way.when:
        joined = " or ".join(way.when) if out else " and ".join(way.when)
        parts.append(f"To scale {way.direction} it takes {joined}")
        if way.met:
            parts.append(f"already there: {'; '.join(way.met)}")
    elif way.met and (out or way.hurdles or way.earliest):
        parts.append(f"The metrics ask for {'more' if out else 'less'} already: {'; '.join(way.met)}")
    else:
        return ""
    if way.earliest is not None:
        parts.append(f"at the earliest to {_move(way.earliest)}" if moves else "a dry run writes nothing")
    hurdles = [_hurdle(step, way, size, moves=moves) for step in way.hurdles]
    return "\n".join(["; ".join(parts) + ".", *[f"  {each}" for each in hurdles]])


def _hurdle(step: StepDocument, way: Way, size: int | None, *, moves: bool) -> str:
    """Return what a stage would do to the size on this way: `In the way: maxReplicas is 5; the size stays at 5.`"""
    if step.after != size:
        result = f"the size would be {step.after} instead of {step.before}"
    elif moves and way.earliest is not None:
        result = f"until then the size stays at {size}"
    else:
        result = f"the size {'would stay' if way.when or not moves else 'stays'} at {size}"
    return f"In the way: {step.detail}; {result}."


def _move(move: MoveDocument) -> str:
    return f"{move.size} {_in(move.in_seconds)}"


def _in(span: timedelta) -> str:
    """Return when something happens: `in 30s`; within half a second, `before the next cycle`."""
    return f"in {format_seconds(span)}" if round(span.total_seconds()) > 0 else "before the next cycle"
