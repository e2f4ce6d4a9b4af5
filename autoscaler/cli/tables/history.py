"""`autoscaler history`: a row for each decision."""

from datetime import datetime

from autoscaler.layout import UNKNOWN, Screen, Table, moment, or_unknown
from autoscaler.text import clean
from autoscaler.view.history import HistoryDocument, PointMetric, metric_columns
from autoscaler.view.notation import NOT_READ, decimal


def rows(history: HistoryDocument, now: datetime, screen: Screen) -> list[str]:
    """Return a row for each decision."""
    read = metric_columns(history.points)
    table = Table(("TIME", "CURRENT", "DESIRED", "MIN", "MAX", "METRICS"), screen)
    return table.lines(
        [
            (
                moment(point.at, now),
                or_unknown(point.current),
                or_unknown(point.desired),
                str(point.minimum),
                str(point.maximum),
                ", ".join(_metric_text(column.name, column.of(point)) for column in read),
            )
            for point in history.points
        ]
    )


def _metric_text(name: str, metric: PointMetric | None) -> str:
    if metric is None:
        return f"{clean(name)}: {NOT_READ}"
    kind = metric.target_type
    value = UNKNOWN if metric.value is None else decimal(metric.value, kind)
    return f"{clean(metric.name)}: {value}" + ("" if metric.target is None else f"/{decimal(metric.target, kind)}")
