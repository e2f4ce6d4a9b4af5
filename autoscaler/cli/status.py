"""`autoscaler status`: the daemon, its connections with their shards, and the daemons that share the state."""

import typer

from autoscaler.cli.client import asking
from autoscaler.cli.options import OutputForm
from autoscaler.cli.output import Form, screen, show, show_document
from autoscaler.cli.tables.hosts import host_rows, notes
from autoscaler.cli.tables.status import alone_lines, connection_rows, daemon_lines, grant_lines, source_rows
from autoscaler.view.hosts import HostList, StatusDocument
from autoscaler.view.status import DaemonStatus


def status(
    ctx: typer.Context,
    *,
    output: OutputForm = Form.TEXT,
) -> None:
    """Show the daemon, each Prometheus and connection, and the daemons that share the state.

    SHARDS: the connection's shards that run here, and those of them that hang. If several daemons share a PostgreSQL
    state, the last table has a row for each. LEASE: the time until a standby takes over, unless the leader renews.
    CONFIGURATION: whether the leader has the one of the daemon that answers. Problems are on stderr. Without a daemon,
    the command shows the daemons of a PostgreSQL state, and exits with 1.
    """
    with asking(ctx, hosts_only=True) as client:
        hosts = client.get(HostList, "/status/hosts")
        daemon = None if client.is_from_state else client.get(DaemonStatus, "/status/daemon")
        found = StatusDocument(daemon=daemon, hosts=hosts)
        if output is not Form.TEXT:
            show_document(found, output)
        else:
            _show(found)
        if found.daemon is None:
            raise typer.Exit(1)


def _show(found: StatusDocument) -> None:
    now, daemon = found.hosts.at, found.daemon
    if daemon is not None:
        show(daemon_lines(daemon, now))
        show(["", *source_rows(daemon, now, screen())])
        if daemon.connections:
            show(["", *connection_rows(daemon, now, screen())])
        show(alone_lines(daemon))
        show(grant_lines(daemon))
        for problem in daemon.problems:
            typer.echo(problem, err=True)
    if not found.hosts.shared:
        return
    if rows := host_rows(found.hosts, screen()):
        show(["", *rows])
    for line in notes(found.hosts):
        typer.echo(line, err=True)
