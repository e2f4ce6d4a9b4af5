"""`autoscaler history`: shows sizes and metrics over time."""

from datetime import datetime

import typer

from autoscaler.cli.client import asking
from autoscaler.cli.options import Name, OutputForm, Since, Until, span
from autoscaler.cli.output import Form, show_found
from autoscaler.layout import UNKNOWN, Screen, Table, moment, or_unknown
from autoscaler.view.history import HistoryDocument, PointMetric, metric_columns
from autoscaler.view.notation import NOT_READ, decimal

_MAX_POINTS = 10_000


def history(
    ctx: typer.Context,
    name: Name,
    *,
    since: Since = "1h",
    until: Until = "now",
    output: OutputForm = Form.TEXT,
) -> None:
    """Show the size and the metrics over time, one row for each decision. The page draws them."""
    begin, end = span(since, until)
    with asking(ctx) as client:
        path = "/autoscalers/{name}/history"
        found = client.get(HistoryDocument, path, name, since=begin, until=end, points=_MAX_POINTS)
        show_found(found, output, rows, "no decisions in this time; --since looks further back")


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
        return f"{name}: {NOT_READ}"
    kind = metric.target_type
    value = UNKNOWN if metric.value is None else decimal(metric.value, kind)
    return f"{metric.name}: {value}" + ("" if metric.target is None else f"/{decimal(metric.target, kind)}")
