"""`autoscaler explain`: explains a decision."""

from datetime import UTC, datetime
from typing import Annotated

import typer

from autoscaler.cli.options import TIME_FORMS, ConfigFile, HttpConfigFile, Name, OutputForm, ServerUrl, moment
from autoscaler.cli.output import Form, exit_on_error, screen, show, show_document
from autoscaler.cli.source import DocumentSource, Where
from autoscaler.cli.tables.explanation import explanation
from autoscaler.view.explanation import Explanation


def explain(
    name: Name,
    *,
    at: Annotated[
        str | None,
        typer.Option("--at", metavar="TIME", help=f"Explain the decision in force at that time: {TIME_FORMS}."),
    ] = None,
    output: OutputForm = Form.TEXT,
    server: ServerUrl = None,
    http_config_file: HttpConfigFile = None,
    config_file: ConfigFile = None,
) -> None:
    """Explain the last decision, or a past one.

    Shows the value and proposal of each metric, which metric won, how windows, policies and bounds changed the size and
    for how much longer, and what would have to change for another size.
    """
    when = None if at is None else moment(at, "--at", to_its_end=True)
    with exit_on_error(), DocumentSource(Where(server, http_config_file, config_file)) as source:
        found = source.read(Explanation, "/autoscalers/{name}/explain", name, at=when)
        if output is not Form.TEXT:
            show_document(found, output)
            return
        show(explanation(found, datetime.now(UTC), screen()))
