"""`autoscaler hosts`: the daemons that share the state."""

from typing import Annotated

import typer

from autoscaler.cli.options import ConfigFile, HttpConfigFile, ServerUrl
from autoscaler.cli.output import Form, exit_on_error, screen, show, show_document
from autoscaler.cli.source import Source, Where
from autoscaler.cli.tables.hosts import host_rows, notes


def hosts(
    *,
    output: Annotated[Form, typer.Option("-o", "--output", metavar="FORMAT", help="text, json or yaml.")] = Form.TEXT,
    server: ServerUrl = None,
    http_config_file: HttpConfigFile = None,
    config_file: ConfigFile = None,
) -> None:
    """List the daemons that share a PostgreSQL state, and what each of them serves.

    LEASE: how long it lasts unless it is renewed; then the others take over. LOADED: how long ago the daemon read its
    configuration. CONFIGURATION: whether it is the one loaded last, or which autoscalers differ from that one. Below
    the table, on stderr: autoscalers that no daemon serves.
    """
    with exit_on_error(), Source(Where(server, http_config_file, config_file)) as source:
        found = source.hosts()
        if output is not Form.TEXT:
            show_document(found, output)
            return
        if not found.shared:
            typer.echo("the state is an SQLite file, which has one daemon; several share a PostgreSQL state", err=True)
            return
        if found.hosts:
            show(host_rows(found, screen()))
        for line in notes(found):
            typer.echo(line, err=True)
