"""A target and the shadow of its dry run over the same time."""

from collections.abc import Iterable
from datetime import datetime, timedelta
from itertools import pairwise
from typing import TYPE_CHECKING, Final, NamedTuple

from autoscaler.decide.proposals import tolerances_of
from autoscaler.model import Autoscaler, Decision

if TYPE_CHECKING:  # the command line reads documents that a daemon made, and needs no SQLAlchemy for it
    from autoscaler.record import Record

_LONGEST: Final = 3
"""Sync periods: two cycles that are further apart have a gap between them, of which nothing is known."""
_NONE: Final = timedelta(0)


class Moment(NamedTuple):
    """One cycle of a dry run with a shadow, from its time until the next."""

    at: datetime
    period: timedelta
    target: int
    """The target's size."""
    before: int
    """The shadow's, before its decision."""
    shadow: int
    """And after it."""
    maximum: int | None
    above: bool
    """Whether a metric of the target was above its target value, by more than the tolerance."""
    shadow_above: bool
    saturated: bool


class Side(NamedTuple):
    """One of the two. Times are within what is covered."""

    instance_time: timedelta
    """Size x time."""
    above_target: timedelta
    at_maximum: timedelta
    changes: int
    turns: int
    """Changes in the other direction than the one before."""
    smallest: int
    largest: int


class Comparison(NamedTuple):
    """What both came to."""

    since: datetime
    until: datetime
    covered: timedelta
    """Of that: without the gaps."""
    cycles: int
    target: Side
    shadow: Side
    saturated: timedelta
    """How long the target was too small for its load, so that more may have been asked for than showed."""


def moments(records: "Iterable[Record]") -> list[Moment]:
    """The cycles that have a shadow, of those whose target could be read; in order."""
    found = (_moment(record.scaler, record.decision) for record in records)
    return [each for each in found if each is not None]


def _moment(scaler: Autoscaler, made: Decision) -> Moment | None:
    memory = made.shadow_memory
    if memory is None or made.current is None:
        return None
    highest = 1.0 + tolerances_of(scaler).up
    return Moment(
        made.now,
        scaler.sync_period,
        made.current,
        memory.size if made.shadow is None else made.shadow,
        memory.size,
        made.maximum,
        memory.above,
        any(metric.ratio is not None and metric.ratio > highest for metric in made.metrics),
        memory.saturated,
    )


def comparison(cycles: list[Moment]) -> Comparison | None:
    """Of cycles in order; None: there is none."""
    if not cycles:
        return None
    spans = [_span(one, following) for one, following in pairwise(cycles)]
    spans.append(_NONE)  # of the last one nobody knows how long it lasted
    return Comparison(
        cycles[0].at,
        cycles[-1].at,
        sum(spans, _NONE),
        len(cycles),
        _side(cycles[0].target, [(each.target, each.above, each.maximum) for each in cycles], spans),
        _side(cycles[0].before, [(each.shadow, each.shadow_above, each.maximum) for each in cycles], spans),
        sum([span for each, span in zip(cycles, spans, strict=True) if each.saturated], _NONE),
    )


def _span(one: Moment, following: Moment) -> timedelta:
    span = following.at - one.at
    return span if _NONE < span <= _LONGEST * one.period else _NONE


def _side(begin: int, course: list[tuple[int, bool, int | None]], spans: list[timedelta]) -> Side:
    """`begin`: the size before all of them."""
    sizes = [size for size, _, _ in course]
    steps = [after - before for before, after in pairwise([begin, *sizes]) if after != before]
    return Side(
        sum([size * span for size, span in zip(sizes, spans, strict=True)], _NONE),
        sum([span for (_, above, _), span in zip(course, spans, strict=True) if above], _NONE),
        sum(
            [
                span
                for (size, _, maximum), span in zip(course, spans, strict=True)
                if maximum is not None and size >= maximum
            ],
            _NONE,
        ),
        len(steps),
        sum([(before > 0) is not (after > 0) for before, after in pairwise(steps)]),
        min(sizes),
        max(sizes),
    )
