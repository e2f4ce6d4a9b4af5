"""The rows of the table `member`: one for each daemon that shares a state on PostgreSQL."""

from collections.abc import Callable, Collection, Mapping, Set
from datetime import timedelta
from typing import Final, NamedTuple
from uuid import uuid4

from sqlalchemy import Connection, delete, select, text, tuple_, update

from autoscaler.model import ShardName
from autoscaler.record import schema
from autoscaler.record.sharing import dump_needs, load_needs

_PROCESS: Final = 24
"""Characters of a member's id, of 32, that are its process'."""
_SESSIONS: Final = "autoscaler "
_TOKENS: Final = "tokens"
"""Of a session's notes: what it read of the members."""
NOW: Final = "(extract(epoch FROM clock_timestamp()) * 1000000)::bigint"
"""SQL: the database's time in microseconds, also within a transaction."""


def prolong(connection: Connection, member: str) -> bool:
    """Renew a lease; false: another member has ended it. Locks the row: an end under way is waited for, or waits."""
    renewed = connection.execute(
        text(f"UPDATE member SET token = :token, renewed = {NOW} WHERE id = :id"),  # noqa: S608 - constants
        {"id": member, "token": new_token()},
    )
    return renewed.rowcount > 0


def is_alive(connection: Connection, member: str) -> bool:
    """Whether no other member has ended its lease. Locks its row, so that it stays so."""
    query = text("SELECT id FROM member WHERE id = :id FOR UPDATE")
    return connection.execute(query, {"id": member}).one_or_none() is not None


def new_token() -> str:
    """One that no other renewal has."""
    return uuid4().hex


class _Seen(NamedTuple):
    """A member's row, as a session read it."""

    token: str
    at: timedelta
    """When that was known first, on the clock of this machine that goes on while it sleeps."""


def dead_members(connection: Connection, clock: Callable[[], timedelta]) -> Mapping[str, str]:
    """The members that have not renewed their leases for as long as those last: id -> token.

    This session has read the same token for so long: from the answer that showed it first until before this is asked.
    A new session begins anew: it may be one with another server, to which old rows have come back. So neither a wall
    clock nor the database's clock has a say. `clock`: what has gone by on this machine.
    """
    known: Mapping[str, _Seen] = connection.info.get(_TOKENS, {})
    sent = clock()
    table = schema.member
    rows = connection.execute(select(table.c.id, table.c.token, table.c.duration)).all()
    answered = clock()
    seen = {row.id: _Seen(row.token, answered) for row in rows}
    seen |= {name: known[name] for name, one in seen.items() if name in known and known[name].token == one.token}
    connection.info[_TOKENS] = seen
    return {row.id: row.token for row in rows if sent - seen[row.id].at >= timedelta(microseconds=row.duration)}


def new_process() -> str:
    """The beginning of the ids of all members that one process comes to be, one after another."""
    return uuid4().hex[:_PROCESS]


def new_member(process: str, count: int) -> str:
    """The id of its member of this number."""
    return f"{process}{count:08x}"


def sessions_of(process: str) -> str:
    """What a process calls its sessions, so that others can tell whose they are."""
    return f"{_SESSIONS}{process}"


def evict(connection: Connection, dead: Mapping[str, str]) -> None:
    """Remove these members, by id and token, and end the transactions of their processes.

    One that is being renewed at this moment is left alone: it has another token then. A process that was stopped in the
    middle of a transaction, or whose host is gone, would keep its rows locked for as long as it is. PostgreSQL's own
    time-outs do not end a session that has sent a part of a command.
    """
    if not dead:
        return
    table = schema.member
    connection.execute(
        text(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "  # noqa: S608 - constants
            "WHERE xact_start IS NOT NULL AND application_name IN "
            f"(SELECT '{_SESSIONS}' || left(id, {_PROCESS}) FROM member GROUP BY 1 HAVING bool_and(id = ANY(:dead)))"
        ),
        {"dead": [*dead]},
    )
    same = tuple_(table.c.id, table.c.token).in_([*dead.items()])
    query = select(table.c.id).where(same).order_by(table.c.id).with_for_update(skip_locked=True)
    remove(connection, connection.execute(query).scalars().all())


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
