"""`autoscaler status`: the daemon, and one row for each Prometheus and each connection."""

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Final

from autoscaler.layout import NONE, Screen, Table
from autoscaler.quantity import format_age
from autoscaler.text import clean, count
from autoscaler.view.status import ConnectionStatus, DaemonStatus, SourceStatus

_SOURCES: Final = ("PROMETHEUS", "STATE", "LAST ANSWER", "LAST FAILURE")
_CONNECTIONS: Final = ("CONNECTION", "TYPE", "STATE", "SHARDS", "LAST CYCLE", "LAST ANSWER", "LAST FAILURE")


def daemon_lines(daemon: DaemonStatus, now: datetime) -> Sequence[str]:
    """Return lines about the daemon."""
    lines = [
        f"Version:        {clean(daemon.version)}",
        f"Started:        {format_age(now - daemon.started)} ago",
        f"Configuration:  {clean(daemon.configuration)}, {count(daemon.autoscalers, 'autoscaler')}",
        f"State:          {daemon.level.value}",
    ]
    return [*lines, "Lease:          lost; nothing is scaled"] if daemon.lease_lost else lines


def alone_lines(daemon: DaemonStatus) -> Iterator[str]:
    """Yield lines about the queries that are sent alone, by source, with their autoscalers and the reasons."""
    for source in daemon.sources:
        if source.queries_alone:
            yield ""
            yield f"prometheus {source.name}: {source.queries_alone} sent alone, until cheap for ten minutes"
        for each in source.asked_alone:
            yield f"  {', '.join(each.autoscalers)}, {each.reason}: {' '.join(each.query.split())}"
            yield f"    {each.said}"


def grant_lines(daemon: DaemonStatus) -> Iterator[str]:
    """Yield a line for each grant, and below it what is wrong with its folder, files and autoscalers."""
    for grant in daemon.grants:
        yield ""
        refused = f", {grant.refused} refused" if grant.refused else ""
        yield f"grant {clean(grant.name) or 'of all'}: {count(grant.autoscalers, 'autoscaler')}{refused}"
        for problem in grant.problems:
            yield f"  {clean(problem)}"


def connection_rows(daemon: DaemonStatus, now: datetime, screen: Screen) -> Sequence[str]:
    """Return the table of connections, in lines."""
    return Table(_CONNECTIONS, screen).lines([_row(each, now) for each in daemon.connections])


def source_rows(daemon: DaemonStatus, now: datetime, screen: Screen) -> Sequence[str]:
    """Return the table of each Prometheus, in lines."""
    rows = [
        (clean(each.name), each.level.value, _ago(each.last_success, now), _failure(each, now))
        for each in daemon.sources
    ]
    return Table(_SOURCES, screen).lines(rows)


def _failure(server: SourceStatus | ConnectionStatus, now: datetime) -> str:
    text = f": {clean(server.error)}" if server.error else ""
    return f"{_ago(server.last_failure, now)}{text}"


def _row(connection: ConnectionStatus, now: datetime) -> tuple[str, ...]:
    shards = [str(connection.shards)]
    if connection.hung:
        shards.append(f"{connection.hung} hung")
    if connection.superseded:
        shards.append(f"{connection.superseded} superseded")
    return (
        clean(connection.name),
        clean(connection.type),
        connection.level.value,
        ", ".join(shards),
        _ago(connection.last_cycle, now),
        _ago(connection.last_success, now),
        _failure(connection, now),
    )


def _ago(at: datetime | None, now: datetime) -> str:
    return NONE if at is None else f"{format_age(now - at)} ago"
