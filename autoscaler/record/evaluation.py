"""Converts one recorded cycle of an autoscaler to columns of bytes and back.

Most cycles are like the one before. So values that change together share a column, and a block has equal values of a
column once (`rows`). A time that moves with the cycle is written relative to it, because it is then an equal value.
"""

from datetime import datetime, timedelta
from operator import attrgetter
from typing import Final, TypeAlias

import msgspec

from autoscaler.errors import StateError, TargetError, error_of
from autoscaler.model import (
    Bounds,
    CivilTime,
    Condition,
    Decision,
    DrainReport,
    Event,
    Failure,
    History,
    HpaMemory,
    InstanceReading,
    ManualControls,
    Memories,
    MetricOutcome,
    Observation,
    PendingWrite,
    Reading,
    Recommendation,
    Remembered,
    Sample,
    ScaleChange,
    ScaleEvent,
    Status,
    Step,
    TargetRef,
    TargetState,
    ValueReading,
)
from autoscaler.record.binary import Binary
from autoscaler.record.outcomes import failure, outcome_columns, outcome_from
from autoscaler.record.times import from_micros, micros_of, to_micros

Columns: TypeAlias = tuple[bytes, ...]
"""One row's columns, in the order of COLUMNS."""


class _Target(msgspec.Struct, array_like=True):
    """The target's state, or the error of reading it."""

    state: TargetState | None
    error: tuple[str, str] | None
    """Class and text of the TargetError."""


class _Samples(msgspec.Struct, array_like=True):
    """The part of a reading that rarely changes: the names of its samples."""

    kind: str
    """INSTANCES, VALUES or FAILED."""
    names: tuple[str, ...] = ()
    windows: tuple[timedelta, ...] = ()
    """One window for all samples, or one for each."""
    requests: dict[str, int] = {}
    unmatched: tuple[str, ...] = ()
    more_unmatched: int = 0
    dropped: tuple[str, ...] = ()
    error: str = ""


class _Readings(msgspec.Struct, array_like=True):
    samples: tuple[_Samples, ...]
    victims: tuple[str, ...]
    fallbacks: tuple[_Samples | None, ...]
    """Readings of the fallbacks' queries; their values follow those of the metrics."""
    civil: CivilTime = CivilTime()
    drains: tuple[DrainReport, ...] = ()


class _Values(msgspec.Struct, array_like=True):
    """The part of a reading that changes with every cycle."""

    values: tuple[int, ...] = ()
    ages: tuple[int, ...] = ()
    """Microseconds before the cycle's `now`; empty if all samples are of `now`."""


class RareChanges(msgspec.Struct, array_like=True):
    """The part of a decision that rarely changes. `rules` is what they remember."""

    conditions: tuple[Condition, ...]
    warnings: tuple[str, ...]
    manual: ManualControls
    bounds: Bounds | None
    dry_run: bool
    ready: int | None
    rules: Memories


_rare_values: Final = attrgetter("conditions", "warnings", "manual", "bounds", "dry_run", "ready", "remembered.rules")
"""Returns what RareChanges has of a decision, in order."""


class _FrequentChanges(msgspec.Struct, array_like=True):
    """The part of a decision that often changes. Times are microseconds before its `now`."""

    current: int | None
    desired: int | None
    change: ScaleChange | None
    events: tuple[Event, ...]
    trace: tuple[Step, ...]
    status: tuple[int, int]
    status_metrics: tuple[MetricOutcome, ...] | None
    """None: equal to the decision's metrics."""
    recommendations: tuple[tuple[int, int], ...]
    scale_ups: tuple[tuple[int, int], ...]
    scale_downs: tuple[tuple[int, int], ...]
    scale_event: tuple[int, int] | None
    scaled_to_zero: bool | None
    error: str | None
    outcome: tuple[str, int | str | tuple[str, str] | None] | None
    """Its class, and its size, text, or a hold's reason and message."""


class _History(msgspec.Struct, array_like=True):
    """The History that a decision was made from, but for its time and the metrics of its status.

    A time is microseconds since 1970, or None if it is the History's own.
    """

    recommendations: tuple[tuple[int, int | None], ...]
    scale_ups: tuple[tuple[int, int | None], ...]
    scale_downs: tuple[tuple[int, int | None], ...]
    conditions: tuple[Condition, ...]
    status: tuple[int, int]
    pending: PendingWrite | None
    manual: ManualControls
    warnings: tuple[str, ...]
    rules: Memories


INSTANCES: Final = "i"
VALUES: Final = "v"
FAILED: Final = "e"

_TARGET: Final = Binary[_Target](_Target)
_READINGS: Final = Binary[_Readings](_Readings)
_VALUES: Final = Binary[tuple[_Values, ...]](tuple[_Values, ...])
RARE_CHANGES: Final = Binary[RareChanges](RareChanges)
METRICS_OF: Final = Binary[tuple[MetricOutcome, ...]](tuple[MetricOutcome, ...])
_FREQUENT_CHANGES: Final = Binary[_FrequentChanges](_FrequentChanges)
_HISTORY: Final = Binary[_History](_History)
COLUMNS: Final = 8
"""Number of columns: target, readings, values; rare changes, metrics, frequent changes; history, its metrics."""
DECISION: Final = slice(3, 6)
"""The columns of the decision."""
METRICS: Final = 4
"""The column of the decision's metrics. Those of the history are mostly the ones of the decision before."""
_PAST: Final = slice(6, None)
"""The columns of the History."""


def all_columns(observation: Observation, decision: Decision, past: Columns) -> Columns:
    """Return the columns of a decision, with all that it was made from. `past`: `history_columns` of its History."""
    now, target = decision.now, observation.target
    readings = [_split(reading, now) for reading in observation.readings]
    values = [values for _, values in readings]
    fallbacks: tuple[_Samples | None, ...] = ()
    if observation.fallbacks:
        asked = [None if reading is None else _split(reading, now) for reading in observation.fallbacks]
        fallbacks = tuple([None if each is None else each[0] for each in asked])
        values += [each[1] for each in asked if each is not None]
    return (
        _TARGET.dump(_Target(target, None) if isinstance(target, TargetState) else _Target(None, failure(target))),
        _READINGS.dump(
            _Readings(
                tuple([samples for samples, _ in readings]),
                observation.victims,
                fallbacks,
                observation.civil,
                observation.drains,
            )
        ),
        _VALUES.dump(tuple(values)),
        *decision_columns(decision),
        *past,
    )


def history_columns(history: History) -> Columns:
    """Return the columns of a History: everything but its time and the metrics of its status, and these metrics."""
    return history_text(history), METRICS_OF.dump(history.hpa.status.metrics)


def history_text(history: History) -> bytes:
    """Return the first of `history_columns`. It stays the same while only time goes by."""
    hpa, at = history.hpa, history.at
    past = _History(
        tuple([(each.replicas, _unless(at, each.at)) for each in hpa.recommendations]),
        tuple([(each.change, _unless(at, each.at)) for each in hpa.scale_ups]),
        tuple([(each.change, _unless(at, each.at)) for each in hpa.scale_downs]),
        hpa.conditions,
        (hpa.status.current, hpa.status.desired),
        history.pending,
        history.manual,
        history.warnings,
        history.rules,
    )
    return _HISTORY.dump(past)


def _unless(known: datetime | None, at: datetime) -> int | None:
    return None if at == known else to_micros(at)


def history_from(columns: Columns, at: int | None) -> History:
    """Return the History of the decision before, at this time (microseconds), from all columns. Raises StateError."""
    text, metrics = columns[_PAST]
    return history_of(text, METRICS_OF.load(metrics), at)


def history_of(text: bytes, metrics: tuple[MetricOutcome, ...], at: int | None) -> History:
    """Return the History of this time (microseconds), from `history_text` and its metrics. Raises StateError."""
    past = _HISTORY.load(text)
    known = None if at is None else from_micros(at)

    def time_of(own: int | None) -> datetime:
        found = known if own is None else from_micros(own)
        if found is None:
            raise StateError("a recorded history has no time; restore a backup of the state")
        return found

    return History(
        hpa=HpaMemory(
            recommendations=tuple([Recommendation(size, time_of(own)) for size, own in past.recommendations]),
            scale_ups=tuple([ScaleEvent(change, time_of(own)) for change, own in past.scale_ups]),
            scale_downs=tuple([ScaleEvent(change, time_of(own)) for change, own in past.scale_downs]),
            conditions=past.conditions,
            status=Status(*past.status, metrics),
        ),
        pending=past.pending,
        manual=past.manual,
        at=known,
        warnings=past.warnings,
        rules=past.rules,
    )


def decision_columns(decision: Decision) -> Columns:
    """Return the columns DECISION."""
    now, new = decision.now, decision.remembered
    status = new.status
    rare = RareChanges(*_rare_values(decision))
    frequent = _FrequentChanges(
        decision.current,
        decision.desired,
        decision.change,
        decision.events,
        decision.trace,
        (status.current, status.desired),
        None if status.metrics is decision.metrics or status.metrics == decision.metrics else status.metrics,
        tuple([(each.replicas, micros_of(now - each.at)) for each in new.recommendations]),
        tuple([(each.change, micros_of(now - each.at)) for each in new.scale_ups]),
        tuple([(each.change, micros_of(now - each.at)) for each in new.scale_downs]),
        None if new.scale_event is None else (new.scale_event.change, micros_of(now - new.scale_event.at)),
        new.scaled_to_zero,
        decision.error,
        None if decision.outcome is None else outcome_columns(decision.outcome),
    )
    return RARE_CHANGES.dump(rare), METRICS_OF.dump(decision.metrics), _FREQUENT_CHANGES.dump(frequent)


def observation_from(columns: Columns, at: int) -> Observation:
    """Return the observation of the cycle at `at` (microseconds). Raises StateError."""
    target, readings, values = _TARGET.load(columns[0]), _READINGS.load(columns[1]), _VALUES.load(columns[2])
    state: TargetState | TargetError | None = target.state
    if state is None:
        state = error_of(*target.error, TargetError) if target.error else TargetError("")
    now = from_micros(at)
    asked = [samples for samples in readings.fallbacks if samples is not None]
    parts = zip((*readings.samples, *asked), values, strict=True)
    found = [_joined(samples, each, now) for samples, each in parts]
    own, others = found[: len(readings.samples)], iter(found[len(readings.samples) :])
    fallbacks = [None if samples is None else next(others) for samples in readings.fallbacks]
    return Observation(state, tuple(own), readings.victims, tuple(fallbacks), readings.civil, readings.drains)


def decision_from(columns: Columns, at: int, name: str, target: TargetRef) -> Decision:
    """Return the decision of the cycle at `at` (microseconds) from the columns DECISION. Raises StateError."""
    rare, metrics, frequent = (
        RARE_CHANGES.load(columns[0]),
        METRICS_OF.load(columns[1]),
        _FREQUENT_CHANGES.load(columns[2]),
    )
    now = from_micros(at)
    shown = metrics if frequent.status_metrics is None else frequent.status_metrics
    event = frequent.scale_event
    return Decision(
        name=name,
        target=target,
        now=now,
        current=frequent.current,
        desired=frequent.desired,
        change=frequent.change,
        events=frequent.events,
        metrics=metrics,
        trace=frequent.trace,
        remembered=Remembered(
            status=Status(*frequent.status, shown),
            recommendations=tuple(
                [Recommendation(size, from_micros(at - age)) for size, age in frequent.recommendations]
            ),
            scale_ups=tuple([ScaleEvent(change, from_micros(at - age)) for change, age in frequent.scale_ups]),
            scale_downs=tuple([ScaleEvent(change, from_micros(at - age)) for change, age in frequent.scale_downs]),
            scale_event=None if event is None else ScaleEvent(event[0], from_micros(at - event[1])),
            scaled_to_zero=frequent.scaled_to_zero,
            rules=rare.rules,
        ),
        error=frequent.error,
        outcome=None if frequent.outcome is None else outcome_from(*frequent.outcome),
        conditions=rare.conditions,
        warnings=rare.warnings,
        manual=rare.manual,
        bounds=rare.bounds,
        dry_run=rare.dry_run,
        ready=rare.ready,
    )


def _split(reading: Reading | Failure, now: datetime) -> tuple[_Samples, _Values]:
    if isinstance(reading, Failure):
        return _Samples(FAILED, error=reading.message), _Values()
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


def _joined(samples: _Samples, values: _Values, now: datetime) -> Reading | Failure:
    if samples.kind == FAILED:
        return Failure(samples.error)
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
