"""How far an inferred past agrees with the state, where both are known: a reason for each cycle that differs.

What was recorded is held against what the same configuration decides over the inferred past (`replay` with the load
`recorded`). A cycle's counterpart is the nearest step, half a sync period away at most.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final, NamedTuple

from autoscaler.errors import TargetError
from autoscaler.foresee.outlook import lookback
from autoscaler.model import (
    CONNECTION_LIMITS,
    Autoscaler,
    Decision,
    History,
    MetricOutcome,
    TargetState,
    TargetType,
    Written,
)
from autoscaler.quantity import format_decimal
from autoscaler.whatif.past.past import Moment
from autoscaler.whatif.replay.replay import Replayed

_NO_TIME: Final = timedelta(0)


class Why(StrEnum):
    """Why a cycle has another size."""

    UNCOVERED = "not covered"
    """The inferred past has no step there."""
    CONFIGURATION = "configuration"
    """The autoscaler was configured otherwise then."""
    TARGET = "target"
    """What only the back end knows: a reading that failed, limits of its own."""
    SHADOW = "shadow"
    """It was a dry run, which decides from the size of its shadow."""
    SIZE = "size"
    """Another size was inferred."""
    OPERATOR = "operator"
    """An override was in force."""
    LIMITS = "limits"
    """What the autoscalers of a connection share cut the decision."""
    READING = "reading"
    """A metric read another value."""
    INSTANCES = "instances"
    """Metrics read the same, of instances whose readiness or samples counted otherwise."""
    BRAKE = "brake"
    """A brake was on in one of them alone."""
    WRITE = "write"
    """A write did not arrive, which the history then rests on."""
    BEGIN = "begin"
    """What is remembered begins later than the daemon's own memory."""
    MEMORY = "memory"
    """What is remembered differs, from readings and sizes that differed before."""
    TIME = "time"
    """All is the same but the time of the cycle, on which windows and periods end."""


@dataclass(frozen=True, slots=True)
class Difference:
    """Cycles in a row that differ for one reason."""

    begin: datetime
    end: datetime
    cycles: int
    why: Why
    message: str
    """Of the first of them."""
    recorded: int | None
    """The size that was decided in the first; None: nothing was."""
    inferred: int | None

    def __str__(self) -> str:
        cycles = f", {self.cycles} cycles" if self.cycles > 1 else ""
        time = self.begin.isoformat(timespec="seconds")
        return f"{time}{cycles}: {_size(self.inferred)} instead of {_size(self.recorded)} ({self.why}): {self.message}"


@dataclass(frozen=True, slots=True)
class Agreement:
    """What came of the comparison."""

    cycles: int
    """Of the state, from the first step to the last."""
    same: int
    """In which the same size was decided."""
    same_read: int
    """In which the same size was read, as far as it could be."""
    differences: Sequence[Difference]
    """In order of time; together they have all the other cycles."""

    @property
    def share(self) -> float:
        """Of the cycles that have the same size, 0 to 1; 1 without any cycle."""
        return self.same / self.cycles if self.cycles else 1.0

    def summary(self) -> str:
        """One sentence."""
        reasons: dict[Why, int] = {}
        for each in self.differences:
            reasons[each.why] = reasons.get(each.why, 0) + each.cycles
        counted = ", ".join(f"{why} {count}" for why, count in sorted(reasons.items(), key=lambda each: -each[1]))
        text = f"{self.same} of {self.cycles} cycles have the size that the state has ({self.share:.1%})"
        return f"{text}; the others differ by {counted}" if counted else text


def agreement(recorded: Iterable[Moment], inferred: Iterable[Replayed]) -> Agreement:
    """What was recorded, held against what was decided over the inferred past; each in order of time.

    Cycles before the first step and after the last are not counted.
    """
    cycles = same = same_read = 0
    differences: list[Difference] = []
    explain = _Explanation()
    for moment, replayed in _paired(recorded, inferred):
        own = moment.decision
        if own is None:
            continue
        cycles += 1
        if replayed is None:
            _add(differences, moment.at, own.desired, None, Why.UNCOVERED, "the inferred past has no step at this time")
            continue
        made = replayed.decision
        same_read += own.current == made.current
        reason = explain.of(moment, own, replayed)
        if own.desired == made.desired:
            same += 1
        else:
            _add(differences, moment.at, own.desired, made.desired, *reason)
    return Agreement(cycles, same, same_read, differences)


class _Reason(NamedTuple):
    why: Why
    message: str


class _Explanation:
    """Knows what differed before: what is remembered rests on it."""

    def __init__(self) -> None:
        self._begin: datetime | None = None
        self._lost: datetime | None = None
        """When a write last failed."""
        self._parted: datetime | None = None
        """When anything but the memory last differed."""

    def of(self, moment: Moment, own: Decision, replayed: Replayed) -> _Reason:
        """What is different in a cycle; for one that decides the same it is only kept in mind."""
        if self._begin is None:
            self._begin = replayed.moment.at
        found = next(_seen(moment, own, replayed), None)
        if found is None:
            found = self._remembered(moment, own, replayed)
        else:
            self._parted = moment.at
        if own.outcome is not None and not isinstance(own.outcome, Written):
            self._lost = moment.at
        return found

    def _remembered(self, moment: Moment, own: Decision, replayed: Replayed) -> _Reason:
        """Everything that was seen is the same."""
        scaler, made, begin = replayed.scaler, replayed.decision, self._begin or moment.at
        back = moment.at - lookback(scaler)
        brakes = {each.brake for each in own.brakes} ^ {each.brake for each in made.brakes}
        if brakes:
            return _Reason(Why.BRAKE, f"the brake {', '.join(sorted(brakes))} is on in one of them alone")
        if self._lost is not None and self._lost >= back:
            return _Reason(Why.WRITE, f"a write did not arrive, at {_time(self._lost)}; none is known to fail here")
        if _reaches_before(begin, back, moment.history):
            return _Reason(Why.BEGIN, f"what is remembered begins at {_time(begin)}")
        if moment.history is None or not _same_memory(moment.history, replayed.history) or self._parted is not None:
            since = "before" if self._parted is None else f"last at {_time(self._parted)}"
            return _Reason(Why.MEMORY, f"readings or sizes differed {since}, and are remembered")
        return _Reason(Why.TIME, f"it is decided {abs((moment.at - replayed.moment.at).total_seconds()):.3g} s apart")


def _seen(moment: Moment, own: Decision, replayed: Replayed) -> Iterator[_Reason]:
    """What differs of what the two decisions were made from, the most telling first."""
    made = replayed.decision
    metrics = list(zip(own.metrics, made.metrics, strict=False))
    if moment.scaler is not None and _rules(moment.scaler) != _rules(replayed.scaler):
        yield _Reason(Why.CONFIGURATION, "the autoscaler was configured otherwise")
    yield from [_of_metric(then, now) for then, now in metrics if then.failed != now.failed]
    yield from _of_target(moment.observation.target, own, made)
    if own.steering.override is not None:
        yield _Reason(Why.OPERATOR, "an operator's bounds were in force, of which Prometheus knows nothing")
    if any(step.reason in CONNECTION_LIMITS for step in own.trace):
        yield _Reason(Why.LIMITS, "a limit that the connection's autoscalers share cut it")
    yield from [_of_metric(then, now) for then, now in metrics if then.proposal != now.proposal]


def _of_target(target: TargetState | TargetError, own: Decision, made: Decision) -> Iterator[_Reason]:
    if isinstance(target, TargetError):
        yield _Reason(Why.TARGET, f"the target could not be read: {target}")
        return
    if own.shadow is not None:
        yield _Reason(Why.SHADOW, f"it was a dry run, whose shadow had the size {own.shadow}")
    if own.current != made.current:
        yield _Reason(Why.SIZE, f"the size was {_size(own.current)}, and is inferred to be {_size(made.current)}")
    if own.steering.override is None and (own.minimum, own.maximum) != (made.minimum, made.maximum):
        yield _Reason(Why.TARGET, f"the bounds in force were {own.minimum} to {own.maximum}, by the target's own")


def _of_metric(then: MetricOutcome, now: MetricOutcome) -> _Reason:
    asked = f"metric {then.name!r} asked for {_size(then.proposal)}, and is inferred to ask for {_size(now.proposal)}"
    if then.failed or now.failed:
        error = then.error if then.failed else now.error
        return _Reason(Why.READING, f"{asked}: {'then' if then.failed else 'here'} it had no value: {error}")
    if then.current != now.current:
        return _Reason(Why.READING, f"{asked}: it was {_value(then)}, and is inferred to be {_value(now)}")
    counted = f"{then.ready} ready and {len(then.missing)} without a sample"
    return _Reason(Why.INSTANCES, f"{asked}: of {counted}, not {now.ready} and {len(now.missing)}")


def _rules(scaler: Autoscaler) -> Autoscaler:
    """All that decides a size, but for a shadow."""
    options = replace(scaler.options, shadow=True, start_up=_NO_TIME)
    return replace(scaler, labels=(), victims=None, dry_run=False, options=options)


def _same_memory(one: History, other: History) -> bool:
    """Whether they hold the same numbers in the same order; their times are the cycles'."""
    return _numbers(one) == _numbers(other)


def _reaches_before(begin: datetime, back: datetime, known: History | None) -> bool:
    """Whether something is remembered of before `begin`; `back`: how far at most."""
    if known is None:
        return begin > back
    times = [each.at for each in known.recommendations]
    times += [each.at for each in (*known.scale_ups, *known.scale_downs)]
    return min(times, default=begin) < begin


def _numbers(history: History) -> tuple[list[int], ...]:
    return (
        [each.replicas for each in history.recommendations],
        [each.change for each in history.scale_ups],
        [each.change for each in history.scale_downs],
    )


def _paired(recorded: Iterable[Moment], inferred: Iterable[Replayed]) -> Iterator[tuple[Moment, Replayed | None]]:
    """Each cycle with its nearest step, from the first step to the last."""
    steps = iter(inferred)
    before, after = None, next(steps, None)
    if after is None:
        return
    half = after.scaler.sync_period / 2
    first = after.moment.at - half
    for moment in recorded:
        while after is not None and after.moment.at < moment.at:
            before, after = after, next(steps, None)
        if moment.at < first or (after is None and before is not None and moment.at > before.moment.at + half):
            continue
        near = [each for each in (before, after) if each is not None]
        nearest = min(near, key=lambda each: abs(each.moment.at - moment.at))
        yield moment, nearest if abs(nearest.moment.at - moment.at) <= half else None


def _add(
    differences: list[Difference], at: datetime, recorded: int | None, inferred: int | None, why: Why, message: str
) -> None:
    last = differences[-1] if differences else None
    if last is not None and last.why is why and (last.recorded, last.inferred) == (recorded, inferred):
        differences[-1] = replace(last, end=at, cycles=last.cycles + 1)
    else:
        differences.append(Difference(at, at, 1, why, message, recorded, inferred))


def _value(outcome: MetricOutcome) -> str:
    if outcome.current is None:
        return "unknown"
    is_percent = outcome.target.type is TargetType.UTILIZATION
    return f"{outcome.current}%" if is_percent else format_decimal(outcome.current)


def _size(size: int | None) -> str:
    return "no size" if size is None else str(size)


def _time(at: datetime) -> str:
    return at.isoformat(timespec="seconds")
