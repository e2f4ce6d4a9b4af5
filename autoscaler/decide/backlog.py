"""Estimates the length of a queue under a dry run's shadow.

Arrivals are the same for the target and its shadow, so both queues change alike, except for the work that the
difference in ready units does: service rate x difference in ready units x time. While the target's queue is empty, its
instances have unknown idle time, and the model assumes no arrivals.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from itertools import count
from typing import Final, NamedTuple

from msgspec.structs import replace

from autoscaler.model import Autoscaler, Backlog, MetricKind, MetricSpec, Observation, ValueReading
from autoscaler.quantity import MAX_MILLI, Milli, sum_of

_LONGEST_GAP: Final = timedelta(minutes=5)
"""The shadow's queue restarts at the target's length after this long (and ten cycles) without a value."""


def next_backlogs(
    scaler: Autoscaler, observed: Observation, ready: int, own: int, known: Sequence[Backlog], now: datetime
) -> tuple[Backlog, ...]:
    """Return the queues at `now`. `ready` and `own` are the ready units of the target and of its shadow.

    A metric without a value keeps its last known queue.
    """
    found = []
    for each in _tracked(scaler, known):
        reading = observed.readings[each.position]
        if isinstance(reading, ValueReading):
            found.append(_next(scaler, each, sum_of(reading.values), ready, own, now))
        elif each.known is not None:
            found.append(each.known)
    return tuple(found)


def known_backlogs(scaler: Autoscaler, known: Sequence[Backlog]) -> Iterator[tuple[MetricSpec, Backlog]]:
    """Yield each backlog metric whose queue has been read at least once."""
    for each in _tracked(scaler, known):
        if each.known is not None:
            yield each.metric, each.known


def as_backlog(scaler: Autoscaler, position: int, reading: ValueReading, known: Sequence[Backlog]) -> ValueReading:
    """Return the shadow's reading of the metric at `position`: the target's own where no service rate is known."""
    for each in _tracked(scaler, known):
        if each.position == position and each.known is not None and service_rate(each.metric, each.known) is not None:
            return ValueReading((each.known.length,))
    return reading


def service_rate(metric: MetricSpec, backlog: Backlog) -> Milli | None:
    """Return what a ready unit processes in a second, or None if that is unknown."""
    return backlog.learnt if metric.service_rate is None else metric.service_rate


class _TrackedQueue(NamedTuple):
    """A backlog metric and the last known state of its queue."""

    position: int
    metric: MetricSpec
    number: int
    known: Backlog | None


def _tracked(scaler: Autoscaler, known: Sequence[Backlog]) -> Iterator[_TrackedQueue]:
    numbers = defaultdict[str, Iterator[int]](count)
    for position, metric in enumerate(scaler.metrics):
        if metric.kind is MetricKind.BACKLOG:
            number = next(numbers[metric.name])
            mine = (each for each in known if (each.name, each.number) == (metric.name, number))
            yield _TrackedQueue(position, metric, number, next(mine, None))


def _next(scaler: Autoscaler, one: _TrackedQueue, seen: Milli, ready: int, own: int, now: datetime) -> Backlog:
    before = one.known
    longest = max(_LONGEST_GAP, 10 * scaler.sync_period)
    if before is None or not timedelta(0) < now - before.at <= longest:
        learnt = None if before is None else before.learnt
        return Backlog(one.metric.name, one.number, seen, seen, now, learnt=learnt)
    seconds, fell = (now - before.at).total_seconds(), before.seen - seen
    # at an empty queue instances are idle
    falling = int(fell / (ready * seconds)) if fell > 0 and seen and ready else 0
    sure = min(falling, before.falling)  # two readings in a row: a purged queue was not processed
    learnt = max(before.learnt or 0, sure) or None
    after = Backlog(one.metric.name, one.number, seen, seen, now, falling, learnt)
    rate = service_rate(one.metric, after)
    if rate is None:
        return after
    if seen:
        length = before.length - fell + int(rate * (ready - own) * seconds)
    else:
        length = before.length - int(rate * own * seconds)
    if own >= ready and before.length <= before.seen:
        length = min(length, seen)
    return replace(after, length=min(max(0, length), MAX_MILLI))
