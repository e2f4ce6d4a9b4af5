"""`autoscaler history`: shows sizes and metrics over time."""

import typer

from autoscaler.cli.client import asking
from autoscaler.cli.options import Name, OutputForm, Since, Until, span
from autoscaler.cli.output import Form, show_found
from autoscaler.cli.tables.history import rows
from autoscaler.view.history import HistoryDocument

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
        if output is Form.TEXT and not found.points:
            typer.echo("no decisions in this time; --since looks further back", err=True)
            return
        show_found(found, output, rows)
