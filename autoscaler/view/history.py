"""Decisions over a time, for charts."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from autoscaler.document import Document
from autoscaler.model import TargetType
from autoscaler.view.events import EventDocument, event
from autoscaler.view.notation import number
from autoscaler.view.thinning import even

if TYPE_CHECKING:  # the command line reads the daemon's documents without SQLAlchemy
    from autoscaler.record.series import SeriesRow
    from autoscaler.record.values import EventRow


class PointMetric(Document):
    """One metric at one time, in its own unit: percents for Utilization, else the quantity."""

    name: str
    target_type: TargetType
    value: float | None
    """null: the metric failed."""
    target: float | None


class Point(Document):
    """One decision of a chart."""

    at: datetime
    current: int | None
    desired: int | None
    minimum: int
    """The bounds at that time."""
    maximum: int
    dry_run: bool
    metrics: tuple[PointMetric, ...]


@dataclass(frozen=True, slots=True)
class Column:
    """One metric of several points. A point does not have the metrics that its decision did not read."""

    name: str
    target_type: TargetType

    def of(self, point: Point) -> PointMetric | None:
        """Return the metric at a point; None: it was not read."""
        same = (each for each in point.metrics if (each.name, each.target_type) == (self.name, self.target_type))
        return next(same, None)


def metric_columns(points: Sequence[Point]) -> Sequence[Column]:
    """Return every metric that one of the points has."""
    return list(dict.fromkeys(Column(metric.name, metric.target_type) for point in points for metric in point.metrics))


class HistoryDocument(Document):
    """Decisions over a time, the oldest first."""

    name: str
    since: datetime
    until: datetime
    points: tuple[Point, ...]
    """Thinned evenly if there are more than requested. Changes of size are kept first."""
    decisions: int
    """The number of decisions."""
    events: tuple[EventDocument, ...]


def history_document(
    name: str,
    since: datetime,
    until: datetime,
    rows: "Sequence[SeriesRow]",
    events: "Sequence[EventRow]",
    most: int,
) -> HistoryDocument:
    """Return the chart of one autoscaler, with at most `most` points."""
    return HistoryDocument(
        name=name,
        since=since,
        until=until,
        points=tuple([_point(row) for row in thinned(rows, most)]),
        decisions=len(rows),
        events=tuple([event(row) for row in events]),
    )


def thinned(rows: "Sequence[SeriesRow]", most: int) -> "Sequence[SeriesRow]":
    """Return at most `most` rows, in order: first those where a size changes, then an even selection of the others."""
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
    return row.current, row.desired


def _point(row: "SeriesRow") -> Point:
    metrics = [
        PointMetric(name=name, target_type=kind, value=number(value, kind), target=number(target, kind))
        for (name, kind, target), value in zip(row.metrics, row.values, strict=True)
    ]
    return Point.of(row, at=row.time, metrics=tuple(metrics))
