"""`autoscaler events`: what happened, equal events counted."""

from datetime import UTC, datetime
from typing import Annotated

import typer

from autoscaler.cli.options import DEFAULT_SERVER, ConfigFile, HttpConfigFile, ServerUrl, Since, moment
from autoscaler.cli.output import Form, exit_on_error, repeat, screen, show, show_document
from autoscaler.cli.source import Source, Where
from autoscaler.cli.tables.events import EventTable


def events(
    name: Annotated[str | None, typer.Argument(metavar="NAME", help="Only events of this autoscaler.")] = None,
    *,
    since: Since = "1h",
    follow: Annotated[bool, typer.Option("-f", "--follow", help="Keep printing new events, until Ctrl-C.")] = False,
    output: Annotated[Form, typer.Option("-o", "--output", metavar="FORMAT", help="text, json or yaml.")] = Form.TEXT,
    server: ServerUrl = DEFAULT_SERVER,
    http_config_file: HttpConfigFile = None,
    config_file: ConfigFile = None,
) -> None:
    """List events, the newest last. Equal ones are counted: `12s (x5 over 96s)`."""
    begin = moment(since, "--since")
    if follow and output is not Form.TEXT:
        raise typer.BadParameter("cannot be combined with -o; leave one of them out", param_hint="--follow")
    with exit_on_error(), Source(Where(server, http_config_file, config_file)) as source:
        found = source.events(name, begin)
        if output is not Form.TEXT:
            show_document(found, output)
            return
        shown = found.events
        if not shown and not follow:
            typer.echo("no events in this time; --since looks further back", err=True)
            return
        table = EventTable(screen(), with_name=name is None)
        now = datetime.now(UTC)
        show([*table.header(shown, now), *table.rows(shown, now)])
        if not follow:
            return

        def go_on() -> None:
            nonlocal shown
            now_there = source.events(name, begin).events
            show(table.rows([each for each in now_there if each not in shown], datetime.now(UTC)))
            shown = now_there

        repeat(go_on)
