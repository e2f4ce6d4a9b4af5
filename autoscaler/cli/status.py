"""`autoscaler status`: the daemon, its connections with their shards, and the daemons that share the state."""

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import Final

import typer

from autoscaler.cli.client import Client, asking
from autoscaler.cli.options import OutputForm
from autoscaler.cli.output import Form, screen, show, show_document, warn
from autoscaler.errors import AutoscalerError, ServerError
from autoscaler.layout import NONE, UNKNOWN, Screen, Table
from autoscaler.quantity import format_age
from autoscaler.text import clean, count
from autoscaler.view.hosts import HostList, StatusDocument
from autoscaler.view.status import ConnectionStatus, DaemonStatus, SourceStatus
from autoscaler.view.summary import AutoscalerList
from autoscaler.view.verdict import AutoscalerState

_SOURCES: Final = ("PROMETHEUS", "STATE", "LAST ANSWER", "LAST FAILURE")
_CONNECTIONS: Final = ("CONNECTION", "TYPE", "STATE", "SHARDS", "LAST CYCLE", "LAST ANSWER", "LAST FAILURE")
_HOSTS: Final = ("DAEMON", "ROLE", "SINCE", "LEASE", "VERSION", "LOADED", "CONFIGURATION")
_CONFIGURATION: Final = {True: "differs", False: "the same", None: UNKNOWN}


def status(
    ctx: typer.Context,
    *,
    output: OutputForm = Form.TEXT,
) -> None:
    """Show the daemon, each Prometheus and connection, and the daemons that share the state.

    Autoscalers: how many are configured, and how many of them fail; `get` shows which, and why.
    SHARDS: the connection's shards that run here, and those of them that hang. If several daemons share a PostgreSQL
    state, the last table has a row for each. LEASE: the time until a standby takes over, unless the leader renews.
    CONFIGURATION: whether the leader has the one of the daemon that answers. Problems are on stderr. Without a daemon,
    the command shows the daemons of a PostgreSQL state, and exits with 1.
    """
    with asking(ctx, hosts_only=True) as client:
        daemon = _daemon_status(client)
        hosts, reason = _hosts_or_reason(client, daemon)
        found = StatusDocument(daemon=daemon, hosts=hosts)
        if output is not Form.TEXT:
            show_document(found, output)
        else:
            show(status_lines(found, _failing(client, found), screen()))
            warn(problems(found))
        warn(reason)
        if found.daemon is None:
            raise typer.Exit(1)


def _daemon_status(client: Client) -> DaemonStatus | None:
    """Return the daemon's status; None: no daemon answers, so the client reads the state."""
    try:
        return client.get(DaemonStatus, "/status/daemon")
    except AutoscalerError:
        if not client.is_from_state:
            raise
        return None  # the state has none


def _hosts_or_reason(client: Client, daemon: DaemonStatus | None) -> tuple[HostList | None, list[str]]:
    """Return the daemons that share the state; if the daemon cannot read it, None and why.

    Its own status, which says what is wrong with the state, must be shown all the same.
    """
    try:
        return client.get(HostList, "/status/hosts"), []
    except ServerError as error:
        if daemon is None:
            raise
        return None, [f"the daemons that share the state are unknown: {error}"]


def _failing(client: Client, found: StatusDocument) -> int | None:
    """Return how many of the configured autoscalers fail, by the state that `get` shows; None: the daemon cannot tell.

    It cannot if its state fails, which the status itself must show. Without a daemon, none is configured.
    """
    if found.daemon is None:
        return 0
    if found.hosts is None:
        return None  # the same database would be waited for once more
    try:
        return client.get(AutoscalerList, "/autoscalers", state=AutoscalerState.FAILING.value, limit=1).total
    except ServerError:
        return None


def status_lines(found: StatusDocument, failing: int | None, screen: Screen) -> Iterator[str]:
    """Yield the daemon and the tables, in lines. Times are relative to that of the document.

    `failing`: how many of the daemon's autoscalers fail; None: unknown.
    """
    hosts, daemon = found.hosts, found.daemon
    now = datetime.now(UTC) if hosts is None else hosts.at
    if daemon is not None:
        yield from map(clean, _daemon(daemon, failing, now))
        answers = [
            (each.name, each.level.value, _ago(each.last_success, now), _failure(each, now)) for each in daemon.sources
        ]
        sources = Table(_SOURCES, screen).lines(answers)
        connections = Table(_CONNECTIONS, screen).lines([_connection(each, now) for each in daemon.connections])
        for lines in (sources, connections):
            yield from ("", *lines) if lines else ()
        yield from map(clean, _alone(daemon))
        yield from map(clean, _grants(daemon))
    if hosts is not None and (rows := _hosts(hosts)):
        yield from ("", *Table(_HOSTS, screen).lines(rows))


def problems(found: StatusDocument) -> Iterator[str]:
    """Yield the daemon's problems; then whether no daemon leads, or the leader has another configuration."""
    yield from found.daemon.problems if found.daemon is not None else ()
    if found.hosts is None:
        return
    leader = found.hosts.leader
    if found.hosts.shared and leader is None:
        yield f"no daemon {'leads' if found.hosts.standbys else 'runs on this state'}, so nothing is scaled"
    if leader is not None and leader.differs:
        yield "the leader has loaded another configuration than this one; roll one out to all, and reload each"


def _daemon(daemon: DaemonStatus, failing: int | None, now: datetime) -> Iterator[str]:
    yield f"Version:        {daemon.version}"
    yield f"Started:        {format_age(now - daemon.started)} ago"
    yield f"Configuration:  {daemon.configuration}"
    failures = "how many fail is unknown" if failing is None else f"{failing} {AutoscalerState.FAILING}"
    yield f"Autoscalers:    {daemon.autoscalers}" + ("" if failing == 0 else f", {failures}")
    yield f"State:          {daemon.level.value}"
    if daemon.lease_lost:
        yield "Lease:          lost; nothing is scaled"


def _alone(daemon: DaemonStatus) -> Iterator[str]:
    """Yield lines about the queries that are sent alone, by source, with their autoscalers and the reasons."""
    for source in daemon.sources:
        if source.queries_alone:
            yield ""
            yield f"prometheus {source.name}: {source.queries_alone} sent alone, until cheap for ten minutes"
        for each in source.asked_alone:
            yield f"  {', '.join(each.autoscalers)}, {each.reason}: {' '.join(each.query.split())}"
            yield f"    {each.said}"


def _grants(daemon: DaemonStatus) -> Iterator[str]:
    """Yield a line for each grant, and below it what is wrong with its folder, files and autoscalers."""
    for grant in daemon.grants:
        yield ""
        refused = f", {grant.refused} refused" if grant.refused else ""
        yield f"grant {grant.name or 'of all'}: {count(grant.autoscalers, 'autoscaler')}{refused}"
        yield from [f"  {problem}" for problem in grant.problems]


def _connection(connection: ConnectionStatus, now: datetime) -> tuple[str, ...]:
    shards = [str(connection.shards)]
    if connection.hung:
        shards.append(f"{connection.hung} hung")
    if connection.superseded:
        shards.append(f"{connection.superseded} superseded")
    return (
        connection.name,
        connection.type,
        connection.level.value,
        ", ".join(shards),
        _ago(connection.last_cycle, now),
        _ago(connection.last_success, now),
        _failure(connection, now),
    )


def _hosts(found: HostList) -> Sequence[tuple[str, ...]]:
    """Return the rows of the leader and of the standbys; empty: the state is not shared, or no daemon runs on it."""
    standbys = [(name, "stands by", *[NONE] * 5) for name in found.standbys]
    leader, now = found.leader, found.at
    if leader is None:
        return standbys
    row = (
        leader.name,
        "leads",
        format_age(now - leader.since),
        format_age(leader.lease_ends - now) if leader.lease_ends > now else "over",
        leader.version,
        UNKNOWN if leader.loaded is None else format_age(now - leader.loaded),
        _CONFIGURATION[leader.differs],
    )
    return [row, *standbys]


def _failure(server: SourceStatus | ConnectionStatus, now: datetime) -> str:
    return _ago(server.last_failure, now) + (f": {server.error}" if server.error else "")


def _ago(at: datetime | None, now: datetime) -> str:
    return NONE if at is None else f"{format_age(now - at)} ago"
