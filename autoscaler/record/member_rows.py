"""The rows of the table `member`: one for each daemon that shares a state on PostgreSQL."""

from collections.abc import Collection, Set
from datetime import timedelta
from typing import Final, NamedTuple
from uuid import uuid4

from sqlalchemy import Connection, delete, select, text, tuple_, update

from autoscaler.model import ShardName
from autoscaler.record import schema
from autoscaler.record.sharing import dump_needs, load_needs
from autoscaler.record.times import micros_of

_PROCESS: Final = 24
"""Characters of a member's id, of 32, that are its process'."""
_SESSIONS: Final = "autoscaler "
NOW: Final = "(extract(epoch FROM clock_timestamp()) * 1000000)::bigint"
"""SQL: the database's time in microseconds, also within a transaction."""


class Found(NamedTuple):
    """What a renewal found."""

    member: str
    now: int
    lead: int
    alone: bool
    """Whether no other member's lease stands."""


_OTHERS: Final = f"SELECT 1 FROM member AS other WHERE other.id <> :id AND other.until > {NOW}"  # noqa: S608 - constants
_KNOWN_LEAD: Final = "SELECT coalesce(max(lead), 0) FROM timeline"
FOUND: Final = f"{NOW} AS now, ({_KNOWN_LEAD}) AS lead, NOT EXISTS ({_OTHERS}) AS alone"


def prolong(connection: Connection, member: str, duration: timedelta) -> Found | None:
    """Renew a lease; None: it is over. Locks the row: an eviction that is under way is waited for, or waits."""
    row = connection.execute(
        text(
            f"UPDATE member SET until = {NOW} + :duration WHERE id = :id AND until > {NOW} "  # noqa: S608 - constants
            f"RETURNING {FOUND}"
        ),
        {"id": member, "duration": micros_of(duration)},
    ).one_or_none()
    return None if row is None else Found(member, *row)


def is_alive(connection: Connection, member: str) -> bool:
    """Locks its row, so that it stays so."""
    query = text(f"SELECT id FROM member WHERE id = :id AND until > {NOW} FOR UPDATE")  # noqa: S608 - constants
    return connection.execute(query, {"id": member}).one_or_none() is not None


def new_process() -> str:
    """The beginning of the ids of all members that one process comes to be, one after another."""
    return uuid4().hex[:_PROCESS]


def new_member(process: str, count: int) -> str:
    """The id of its member of this number."""
    return f"{process}{count:08x}"


def sessions_of(process: str) -> str:
    """What a process calls its sessions, so that others can tell whose they are."""
    return f"{_SESSIONS}{process}"


def evict(connection: Connection, patience: timedelta) -> None:
    """Remove the members whose lease is over, and end their sessions whose transactions are open for `patience`.

    One that is being renewed is left alone: whether it is over then is seen at the next time. A process that was
    stopped in the middle of a transaction, or whose host is gone, would keep its rows locked for as long as it is.
    PostgreSQL's own time-outs do not end a session that has sent a part of a command.
    """
    connection.execute(
        text(
            f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity "  # noqa: S608 - constants
            "WHERE pg_catalog.clock_timestamp() - xact_start > :patience AND application_name IN "
            f"(SELECT '{_SESSIONS}' || left(id, {_PROCESS}) FROM member GROUP BY 1 HAVING max(until) <= {NOW})"
        ),
        {"patience": patience},
    )
    query = text(f"SELECT id FROM member WHERE until <= {NOW} ORDER BY id FOR UPDATE SKIP LOCKED")  # noqa: S608 - constants
    remove(connection, [row.id for row in connection.execute(query)])


def remove(connection: Connection, members: Collection[str]) -> None:
    """Their shards are free by that: no member holds them any more."""
    if members:
        connection.execute(delete(schema.member).where(schema.member.c.id.in_(members)))
        connection.execute(delete(schema.follows).where(schema.follows.c.member.in_(members)))


def save_needs(connection: Connection, member: str, needs: Collection[ShardName]) -> None:
    """Say what the member needs, where that has changed."""
    table, dumped = schema.member, dump_needs(needs)
    others = table.c.needs.is_distinct_from(dumped)
    connection.execute(update(table).where(table.c.id == member, others).values(needs=dumped))


def needs_of_members(connection: Connection) -> dict[str, Collection[ShardName]]:
    """Of each member that has said so."""
    table = schema.member
    rows = connection.execute(select(table.c.id, table.c.needs).where(table.c.needs.is_not(None)))
    return {row.id: load_needs(row.needs) for row in rows}


def needs_of_the_first(connection: Connection, member: str) -> Set[str]:
    """Adapter connections that members need which joined on the same host before this one."""
    others, mine = schema.member.alias("others"), schema.member
    before = tuple_(others.c.joined, others.c.id) < tuple_(mine.c.joined, mine.c.id)
    query = select(others.c.needs).where(mine.c.id == member, others.c.host == mine.c.host, before)
    found = connection.execute(query.where(others.c.needs.is_not(None))).scalars()
    return {name.adapter for needs in found for name in load_needs(needs)}
