"""`autoscaler status`: the daemon, its connections with their shards, and the daemons that share the state."""

import typer

from autoscaler.cli.options import ConfigFile, HttpConfigFile, OutputForm, ServerUrl
from autoscaler.cli.output import Form, exit_on_error, screen, show, show_document
from autoscaler.cli.source import DocumentSource, Where
from autoscaler.cli.tables.hosts import host_rows, notes
from autoscaler.cli.tables.status import alone_lines, connection_rows, daemon_lines, grant_lines


def status(
    *,
    output: OutputForm = Form.TEXT,
    server: ServerUrl = None,
    http_config_file: HttpConfigFile = None,
    config_file: ConfigFile = None,
) -> None:
    """Show the daemon, its shards, and the daemons that share the state.

    SHARDS: the connection's shards that run here, and those of them that hang. If several daemons share a PostgreSQL
    state, the last table has a row for each, with the shards of each connection that it holds. LEASE: the time until
    other daemons take these over, unless it renews. CONFIGURATION: whether it has the one that was loaded last.
    Problems, and autoscalers that no daemon serves, are on stderr. Without a daemon, the command shows the daemons that
    a PostgreSQL state lists.
    """
    with exit_on_error(), DocumentSource(Where(server, http_config_file, config_file)) as source:
        found = source.status()
        if output is not Form.TEXT:
            show_document(found, output)
            return
        if found.daemon is not None:
            now = found.hosts.at
            show(daemon_lines(found.daemon, now))
            if found.daemon.connections:
                show(["", *connection_rows(found.daemon, now, screen())])
            show(alone_lines(found.daemon))
            show(grant_lines(found.daemon))
            for problem in found.daemon.problems:
                typer.echo(problem, err=True)
        if not found.hosts.shared:
            return
        if found.hosts.hosts:
            show(["", *host_rows(found.hosts, screen())])
        for line in notes(found.hosts):
            typer.echo(line, err=True)
