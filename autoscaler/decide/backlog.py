"""A queue's length under a dry run's shadow: the one load that depends on the size.

What arrives is the same for both, so the shadow's queue moves as the target's does, and beside that by what the two
work off differently: the service rate x the difference of their ready units x the time. While the target's queue is
empty its instances have time left, and nobody knows how much: then nothing is taken to arrive.
"""

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from typing import Final, NamedTuple

from msgspec.structs import replace

from autoscaler.model import Autoscaler, Backlog, MetricKind, MetricSpec, Observation, ValueReading
from autoscaler.quantity import MAX_MILLI, Milli, sum_of

_LONGEST_GAP: Final = timedelta(minutes=5)
"""After so long without a value (and ten cycles) the shadow's queue begins anew as long as the target's."""


def next_backlogs(
    scaler: Autoscaler, observed: Observation, ready: int, own: int, known: Sequence[Backlog], now: datetime
) -> tuple[Backlog, ...]:
    """The queues at `now`. `ready`: units of the target that are; `own`: of its shadow.

    A metric without a value keeps what was known of it.
    """
    found = []
    for each in _followed(scaler, known):
        reading = observed.readings[each.position]
        if isinstance(reading, ValueReading):
            found.append(_next(scaler, each, sum_of(reading.values), ready, own, now))
        elif each.known is not None:
            found.append(each.known)
    return tuple(found)


def known_backlogs(scaler: Autoscaler, known: Sequence[Backlog]) -> Iterator[tuple[MetricSpec, Backlog]]:
    """Each metric of the kind with its queue, where that was ever read."""
    for each in _followed(scaler, known):
        if each.known is not None:
            yield each.metric, each.known


def as_backlog(scaler: Autoscaler, position: int, reading: ValueReading, known: Sequence[Backlog]) -> ValueReading:
    """What the shadow reads in place of the metric at this position: the same where no service rate is known."""
    for each in _followed(scaler, known):
        if each.position == position and each.known is not None and service_rate(each.metric, each.known) is not None:
            return ValueReading((each.known.length,))
    return reading


def service_rate(metric: MetricSpec, backlog: Backlog) -> Milli | None:
    """What a ready unit works off in a second; None: nobody knows."""
    return backlog.learnt if metric.service_rate is None else metric.service_rate


class _Followed(NamedTuple):
    """A metric of the kind, and what is known of its queue."""

    position: int
    metric: MetricSpec
    number: int
    known: Backlog | None


def _followed(scaler: Autoscaler, known: Sequence[Backlog]) -> Iterator[_Followed]:
    counts = dict[str, int]()
    for position, metric in enumerate(scaler.metrics):
        if metric.kind is MetricKind.BACKLOG:
            number = counts[metric.name] = counts.get(metric.name, -1) + 1
            mine = (each for each in known if (each.name, each.number) == (metric.name, number))
            yield _Followed(position, metric, number, next(mine, None))


def _next(scaler: Autoscaler, one: _Followed, seen: Milli, ready: int, own: int, now: datetime) -> Backlog:
    before = one.known
    longest = max(_LONGEST_GAP, 10 * scaler.sync_period)
    if before is None or not timedelta(0) < now - before.at <= longest:
        learnt = None if before is None else before.learnt
        return Backlog(one.metric.name, one.number, seen, seen, now, learnt=learnt)
    seconds, fell = (now - before.at).total_seconds(), before.seen - seen
    falling = int(fell / (ready * seconds)) if fell > 0 and seen and ready else 0  # one that ended empty had time left
    sure = min(falling, before.falling)  # twice in a row: a queue that somebody purged was not worked off
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
