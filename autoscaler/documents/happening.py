"""Events, counted, and the series that charts are drawn from."""

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from autoscaler.documents.base import Document
from autoscaler.documents.metric import number
from autoscaler.model import EventType, TargetType

if TYPE_CHECKING:  # the command line reads documents that a daemon made, and needs no SQLAlchemy for it
    from autoscaler.record import EventRow, MetricPoint, SeriesRow


class EventDocument(Document):
    """Equal events of one autoscaler, counted: `x5 over 96s`."""

    autoscaler: str
    type: EventType
    reason: str
    message: str
    count: int
    first: datetime
    last: datetime
    dry_run: bool


class EventList(Document):
    """A page of events."""

    events: tuple[EventDocument, ...]
    """In the order of their last time, the newest last."""
    total: int
    """How many there are on all pages."""


class PointMetric(Document):
    """One metric at one time, in its own unit: percents for Utilization, else the quantity."""

    name: str
    target_type: TargetType
    value: float | None
    """null: the metric failed."""
    target: float | None


class Point(Document):
    """One decision as a chart needs it."""

    at: datetime
    current: int | None
    desired: int | None
    minimum: int
    """The autoscaler's own bounds at that time."""
    maximum: int
    dry_run: bool
    metrics: tuple[PointMetric, ...]


class HistoryDocument(Document):
    """Decisions over a time, the oldest first."""

    name: str
    since: datetime
    until: datetime
    points: tuple[Point, ...]
    """Where there were more than asked for, evenly thinned: every change of size is kept as long as there is room."""
    decisions: int
    """How many there were."""
    events: tuple[EventDocument, ...]


def event(row: "EventRow") -> EventDocument:
    """The document of equal events."""
    return EventDocument(
        autoscaler=row.name,
        type=row.type,
        reason=row.reason,
        message=row.message,
        count=row.count,
        first=row.first,
        last=row.last,
        dry_run=row.dry_run,
    )


def history_document(
    name: str,
    since: datetime,
    until: datetime,
    rows: "Sequence[SeriesRow]",
    events: "Sequence[EventRow]",
    most: int,
) -> HistoryDocument:
    """The chart of one autoscaler, of at most `most` points."""
    return HistoryDocument(
        name=name,
        since=since,
        until=until,
        points=tuple([_point(row) for row in thinned(rows, most)]),
        decisions=len(rows),
        events=tuple([event(row) for row in events]),
    )


def thinned(rows: "Sequence[SeriesRow]", most: int) -> "Sequence[SeriesRow]":
    """At most `most` rows: those at which a size changes first, then an even choice of the others; in order."""
    if len(rows) <= most:
        return rows
    turns = [
        index
        for index, row in enumerate(rows)
        if index in (0, len(rows) - 1)
        or (row.current, row.desired) != (rows[index - 1].current, rows[index - 1].desired)
    ]
    if len(turns) >= most:
        return [rows[index] for index in _even(turns, most)]
    others = sorted(set(range(len(rows))) - set(turns))
    return [rows[index] for index in sorted([*turns, *_even(others, most - len(turns))])]


def _even(indices: Sequence[int], count: int) -> Sequence[int]:
    """`count` of them, from the first to the last."""
    if count <= 1:
        return indices[:count]
    return [indices[place * (len(indices) - 1) // (count - 1)] for place in range(count)]


def _point(row: "SeriesRow") -> Point:
    return Point(
        at=row.at,
        current=row.current,
        desired=row.desired,
        minimum=row.minimum,
        maximum=row.maximum,
        dry_run=row.dry_run,
        metrics=tuple([_metric(each) for each in row.metrics]),
    )


def _metric(point: "MetricPoint") -> PointMetric:
    kind = point.target_type
    return PointMetric(
        name=point.name, target_type=kind, value=number(point.value, kind), target=number(point.target, kind)
    )
