"""One recorded cycle of an autoscaler as columns of bytes, and back.

A cycle mostly repeats the one before it. So what it was made from and came to is cut into columns of what changes
together; a column that is the same as in an earlier, whole row is left out (`rows`).
"""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any, Final, TypeAlias

import msgspec

from autoscaler import errors
from autoscaler.errors import MetricError, TargetError
from autoscaler.model import (
    ActiveBrake,
    BrakeMemory,
    Condition,
    Conflict,
    Decision,
    Event,
    Held,
    HoldReason,
    InstanceReading,
    MetricFailure,
    MetricOutcome,
    Observation,
    Outcome,
    Proposed,
    Reading,
    Recommendation,
    Sample,
    ScaleChange,
    ScaleEvent,
    Shadow,
    Status,
    Steering,
    Step,
    TargetRef,
    TargetState,
    Unchanged,
    ValueReading,
    Written,
)
from autoscaler.record.binary import Binary
from autoscaler.record.times import from_micros, micros_of

Columns: TypeAlias = tuple[bytes, ...]
"""One row's columns, in the order of COLUMNS."""


class _Target(msgspec.Struct, array_like=True):
    """The target as it was read, or why it was not."""

    state: TargetState | None
    error: tuple[str, str] | None
    """Class and text of the TargetError."""


class _Samples(msgspec.Struct, array_like=True):
    """What of one reading stays the same from cycle to cycle: whose samples they are."""

    kind: str
    """INSTANCES, VALUES or FAILED."""
    names: tuple[str, ...] = ()
    windows: tuple[timedelta, ...] = ()
    """One for all samples, or one each."""
    requests: dict[str, int] = {}
    unmatched: tuple[str, ...] = ()
    more_unmatched: int = 0
    dropped: tuple[str, ...] = ()
    error: str = ""


class _Readings(msgspec.Struct, array_like=True):
    samples: tuple[_Samples, ...]
    victims: tuple[str, ...]
    fallbacks: tuple[_Samples | None, ...]
    """Of the fallbacks' queries; their values follow those of the metrics."""


class _Values(msgspec.Struct, array_like=True):
    """What of one reading moves."""

    values: tuple[int, ...] = ()
    ages: tuple[int, ...] = ()
    """Microseconds before the cycle's `now`; empty: none."""


class Circumstances(msgspec.Struct, array_like=True):
    """What of a decision rarely changes."""

    conditions: tuple[Condition, ...]
    warnings: tuple[str, ...]
    steering: Steering
    minimum: int | None
    maximum: int | None
    dry_run: bool
    ready: int | None
    failing: tuple[MetricFailure, ...]
    brakes: tuple[ActiveBrake, ...]
    brake_memory: BrakeMemory | None
    shadow: int | None


class _Course(msgspec.Struct, array_like=True):
    """What of a decision is its own. Times are microseconds before its `now`."""

    current: int | None
    desired: int | None
    change: ScaleChange | None
    events: tuple[Event, ...]
    trace: tuple[Step, ...]
    status: tuple[int, int]
    status_metrics: tuple[MetricOutcome, ...] | None
    """None: the decision's own."""
    recommendations: tuple[tuple[int, int], ...]
    scale_ups: tuple[tuple[int, int], ...]
    scale_downs: tuple[tuple[int, int], ...]
    scale_event: tuple[int, int] | None
    scaled_to_zero: bool | None
    error: str | None
    outcome: tuple[str, int | str | tuple[str, str] | None] | None
    """Class, then size, text, or reason and message of a hold."""
    shadow_memory: Shadow | None


INSTANCES: Final = "i"
VALUES: Final = "v"
FAILED: Final = "e"

_TARGET: Final = Binary[_Target](_Target)
_READINGS: Final = Binary[_Readings](_Readings)
_VALUES: Final = Binary[tuple[_Values, ...]](tuple[_Values, ...])
CIRCUMSTANCES: Final = Binary[Circumstances](Circumstances)
_METRICS: Final = Binary[tuple[MetricOutcome, ...]](tuple[MetricOutcome, ...])
_COURSE: Final = Binary[_Course](_Course)
COLUMNS: Final = 6
"""How many there are: target, readings, values, circumstances, metrics, course."""
DECISION: Final = slice(-3, None)
"""Those that a decision alone is made of."""


def columns_of(observation: Observation, decision: Decision) -> Columns:
    """All that one decision was made from and came to: the costly part of recording it."""
    return target_column(observation.target), *moving_columns(observation, decision)


def target_column(target: TargetState | TargetError) -> bytes:
    """The first column. Of all it is the largest and changes least."""
    return _TARGET.dump(_Target(target, None) if isinstance(target, TargetState) else _Target(None, _failure(target)))


def moving_columns(observation: Observation, decision: Decision) -> Columns:
    """The other ones."""
    now = decision.now
    readings = [_taken_apart(reading, now) for reading in observation.readings]
    values = [values for _, values in readings]
    fallbacks: tuple[_Samples | None, ...] = ()
    if observation.fallbacks:
        asked = [None if reading is None else _taken_apart(reading, now) for reading in observation.fallbacks]
        fallbacks = tuple([None if each is None else each[0] for each in asked])
        values += [each[1] for each in asked if each is not None]
    return (
        _READINGS.dump(_Readings(tuple([samples for samples, _ in readings]), observation.victims, fallbacks)),
        _VALUES.dump(tuple(values)),
        *decision_columns(decision),
    )


def decision_columns(decision: Decision) -> Columns:
    """The columns of DECISION."""
    now, status = decision.now, decision.status
    circumstances = Circumstances(
        decision.conditions,
        decision.warnings,
        decision.steering,
        decision.minimum,
        decision.maximum,
        decision.dry_run,
        decision.ready,
        decision.failing,
        decision.brakes,
        decision.brake_memory,
        decision.shadow,
    )
    course = _Course(
        decision.current,
        decision.desired,
        decision.change,
        decision.events,
        decision.trace,
        (status.current, status.desired),
        None if status.metrics is decision.metrics or status.metrics == decision.metrics else status.metrics,
        tuple([(each.replicas, micros_of(now - each.at)) for each in decision.recommendations]),
        tuple([(each.change, micros_of(now - each.at)) for each in decision.scale_ups]),
        tuple([(each.change, micros_of(now - each.at)) for each in decision.scale_downs]),
        None
        if decision.scale_event is None
        else (decision.scale_event.change, micros_of(now - decision.scale_event.at)),
        decision.scaled_to_zero,
        decision.error,
        None if decision.outcome is None else _outcome(decision.outcome),
        decision.shadow_memory,
    )
    return CIRCUMSTANCES.dump(circumstances), _METRICS.dump(decision.metrics), _COURSE.dump(course)


def observation_from(columns: Columns, at: int) -> Observation:
    """What was seen in the cycle at `at` (microseconds). Raises StateError."""
    target, readings, values = _TARGET.load(columns[0]), _READINGS.load(columns[1]), _VALUES.load(columns[2])
    state: TargetState | TargetError | None = target.state
    if state is None:
        state = _target_error(*target.error) if target.error else TargetError("")
    now = from_micros(at)
    asked = [samples for samples in readings.fallbacks if samples is not None]
    parts = zip((*readings.samples, *asked), values, strict=True)
    found = [_put_together(samples, each, now) for samples, each in parts]
    own, others = found[: len(readings.samples)], iter(found[len(readings.samples) :])
    fallbacks = [None if samples is None else next(others) for samples in readings.fallbacks]
    return Observation(state, tuple(own), readings.victims, tuple(fallbacks))


def decision_from(columns: Columns, at: int, name: str, target: TargetRef) -> Decision:
    """What was decided in the cycle at `at` (microseconds), of the columns of DECISION. Raises StateError."""
    circumstances, metrics, course = (
        CIRCUMSTANCES.load(columns[0]),
        _METRICS.load(columns[1]),
        _COURSE.load(columns[2]),
    )
    now = from_micros(at)
    shown = metrics if course.status_metrics is None else course.status_metrics
    event = course.scale_event
    return Decision(
        name=name,
        target=target,
        now=now,
        dry_run=circumstances.dry_run,
        current=course.current,
        desired=course.desired,
        change=course.change,
        conditions=circumstances.conditions,
        events=course.events,
        metrics=metrics,
        trace=course.trace,
        status=Status(*course.status, shown),
        recommendations=tuple([Recommendation(size, from_micros(at - age)) for size, age in course.recommendations]),
        scale_ups=tuple([ScaleEvent(change, from_micros(at - age)) for change, age in course.scale_ups]),
        scale_downs=tuple([ScaleEvent(change, from_micros(at - age)) for change, age in course.scale_downs]),
        scale_event=None if event is None else ScaleEvent(event[0], from_micros(at - event[1])),
        scaled_to_zero=course.scaled_to_zero,
        error=course.error,
        outcome=None if course.outcome is None else _outcome_from(*course.outcome),
        warnings=circumstances.warnings,
        minimum=circumstances.minimum,
        maximum=circumstances.maximum,
        steering=circumstances.steering,
        ready=circumstances.ready,
        failing=circumstances.failing,
        brakes=circumstances.brakes,
        brake_memory=circumstances.brake_memory,
        shadow=circumstances.shadow,
        shadow_memory=course.shadow_memory,
    )


def _taken_apart(reading: Reading | MetricError, now: datetime) -> tuple[_Samples, _Values]:
    if isinstance(reading, MetricError):
        return _Samples(FAILED, error=str(reading)), _Values()
    if isinstance(reading, ValueReading):
        return _Samples(VALUES), _Values(reading.values)
    samples = reading.samples.values()
    windows = tuple([sample.window for sample in samples])
    if windows and windows.count(windows[0]) == len(windows):
        windows = windows[:1]
    times = [sample.timestamp for sample in samples]
    ages = () if times.count(now) == len(times) else tuple([micros_of(now - at) for at in times])
    return (
        _Samples(
            INSTANCES,
            tuple(reading.samples),
            windows,
            dict(reading.requests),
            reading.unmatched,
            reading.more_unmatched,
            reading.dropped,
        ),
        _Values(tuple([sample.value for sample in samples]), ages),
    )


def _put_together(samples: _Samples, values: _Values, now: datetime) -> Reading | MetricError:
    if samples.kind == FAILED:
        return MetricError(samples.error)
    if samples.kind == VALUES:
        return ValueReading(values.values)
    count = len(samples.names)
    windows = samples.windows * count if len(samples.windows) == 1 else samples.windows
    times = [now - timedelta(microseconds=age) for age in values.ages] or [now] * count
    taken = map(Sample, values.values, times, windows)
    return InstanceReading(
        dict(zip(samples.names, taken, strict=True)),
        samples.requests,
        samples.unmatched,
        samples.more_unmatched,
        samples.dropped,
    )


def _failure(error: BaseException) -> tuple[str, str]:
    """The nearest class of our own tree, and the text."""
    name = next(parent.__name__ for parent in type(error).__mro__ if parent.__module__ == errors.__name__)
    return name, str(error)


def _target_error(name: str, text: str) -> TargetError:
    kind = getattr(errors, name, TargetError)
    return kind(text) if isinstance(kind, type) and issubclass(kind, TargetError) else TargetError(text)


_SIZED: Final[Mapping[str, type[Written] | type[Proposed]]] = {"Written": Written, "Proposed": Proposed}


def _outcome(outcome: Outcome) -> tuple[str, int | str | tuple[str, str] | None]:
    match outcome:
        case Written(size) | Proposed(size):
            return type(outcome).__name__, size
        case Held(hold):
            return "Held", (hold.reason, hold.message)
        case Conflict(message):
            return "Conflict", message
        case Unchanged():
            return "Unchanged", None
        case TargetError():
            return _failure(outcome)


def _outcome_from(name: str, value: Any) -> Outcome:
    if name in _SIZED:
        return _SIZED[name](value)
    if name == "Held":
        return Held(HoldReason(*value))
    if name == "Conflict":
        return Conflict(value)
    return Unchanged() if name == "Unchanged" else _target_error(name, value)
