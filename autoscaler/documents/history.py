"""Decisions over a time, as charts are drawn from them."""

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from autoscaler.documents.base import Document
from autoscaler.documents.events import EventDocument, event
from autoscaler.documents.metric import number
from autoscaler.documents.thinning import even
from autoscaler.model import TargetType

if TYPE_CHECKING:  # the command line reads documents that a daemon made, and needs no SQLAlchemy for it
    from autoscaler.record import EventRow, MetricPoint, SeriesRow


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
    shadow: int | None = None
    """The size that a dry run's shadow had; null: there was none."""


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
        index for index, row in enumerate(rows) if index in (0, len(rows) - 1) or _sizes(row) != _sizes(rows[index - 1])
    ]
    if len(turns) >= most:
        return [rows[index] for index in even(turns, most)]
    others = sorted(set(range(len(rows))) - set(turns))
    return [rows[index] for index in sorted([*turns, *even(others, most - len(turns))])]


def _sizes(row: "SeriesRow") -> tuple[int | None, ...]:
    return row.current, row.shadow, row.desired


def _point(row: "SeriesRow") -> Point:
    return Point.of(row, metrics=tuple(map(_metric, row.metrics)))


def _metric(point: "MetricPoint") -> PointMetric:
    kind = point.target_type
    return PointMetric(
        name=point.name, target_type=kind, value=number(point.value, kind), target=number(point.target, kind)
    )
