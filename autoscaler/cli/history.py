"""`autoscaler history`: shows sizes and metrics over time."""

import typer

from autoscaler.cli.options import ConfigFile, HttpConfigFile, Name, OutputForm, ServerUrl, Since, Until, span
from autoscaler.cli.output import Form, exit_on_error, screen, show, show_document
from autoscaler.cli.source import DocumentSource, Where
from autoscaler.cli.tables.history import rows
from autoscaler.view.history import HistoryDocument

_MAX_POINTS = 10_000


def history(
    name: Name,
    *,
    since: Since = "1h",
    until: Until = "0",
    output: OutputForm = Form.TEXT,
    server: ServerUrl = None,
    http_config_file: HttpConfigFile = None,
    config_file: ConfigFile = None,
) -> None:
    """Show the size and the metrics over time, one row for each decision. The page draws them."""
    begin, end = span(since, until)
    with exit_on_error(), DocumentSource(Where(server, http_config_file, config_file)) as source:
        path = "/autoscalers/{name}/history"
        found = source.read(HistoryDocument, path, name, since=begin, until=end, points=_MAX_POINTS)
        if output is not Form.TEXT:
            show_document(found, output)
            return
        if not found.points:
            typer.echo("no decisions in this time; --since looks further back", err=True)
            return
        show(rows(found, screen()))
