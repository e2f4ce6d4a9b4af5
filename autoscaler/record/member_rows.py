"""Reads and writes the table `member`: one row for each daemon that shares a state on PostgreSQL."""

from collections.abc import Callable, Collection, Mapping, Set
from datetime import timedelta
from typing import Final, NamedTuple
from uuid import uuid4

from sqlalchemy import Connection, delete, select, text, tuple_, update

from autoscaler.model import ShardName
from autoscaler.record import schema
from autoscaler.record.sharing import dump_needs, load_needs

_PROCESS: Final = 24
"""Characters of a member's id, of 32, that identify its process."""
_SESSIONS: Final = "autoscaler "
_TOKENS: Final = "tokens"
"""Key of a session's `info` for the members' tokens that it read."""
NOW: Final = "(extract(epoch FROM clock_timestamp()) * 1000000)::bigint"
"""SQL: the database's time in microseconds, which also advances within a transaction."""


def database_time(connection: Connection) -> int:
    """Return the database's time in microseconds since 1970."""
    now: int = connection.execute(text(f"SELECT {NOW}")).scalar_one()
    return now


def prolong(connection: Connection, member: str) -> bool:
    """Renew a lease. Returns False if another member has ended it. Locks the row until the commit."""
    renewed = connection.execute(
        text(f"UPDATE member SET token = :token, renewed = {NOW} WHERE id = :id"),  # noqa: S608 - constants
        {"id": member, "token": new_token()},
    )
    return renewed.rowcount > 0


def is_alive(connection: Connection, member: str) -> bool:
    """Return whether the member's lease was not ended. Locks its row, so that no other member can end it."""
    query = text("SELECT id FROM member WHERE id = :id FOR UPDATE")
    return connection.execute(query, {"id": member}).one_or_none() is not None


def new_token() -> str:
    """Return a random token for a renewal."""
    return uuid4().hex


class _Seen(NamedTuple):
    """A token that a session read."""

    token: str
    at: timedelta
    """When the session read it first, by CLOCK_BOOTTIME."""


def dead_members(connection: Connection, clock: Callable[[], timedelta]) -> Mapping[str, str]:
    """Return the members whose leases are over: id -> token.

    A lease is over if this session has read the same token for the lease's duration, from the first answer with it
    until before this query. A new session starts over, because it can be with another server that has old rows. No
    wall clock is involved, nor the database's. `clock`: CLOCK_BOOTTIME of this machine.
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
    """Return the common beginning of the ids of all members that one process becomes, one after another."""
    return uuid4().hex[:_PROCESS]


def new_member(process: str, count: int) -> str:
    """Return the id of the process' member of this number."""
    return f"{process}{count:08x}"


def sessions_of(process: str) -> str:
    """Return the application_name of a process' sessions, which shows others whose they are."""
    return f"{_SESSIONS}{process}"


def end_sessions(connection: Connection, dead: Mapping[str, str]) -> None:
    """End the sessions in which these members' processes have transactions.

    A process that was stopped in a transaction, or whose host is gone, would keep its locks. PostgreSQL's own time-outs
    do not end a session that has sent a part of a command.
    """
    if not dead:
        return
    connection.execute(
        text(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "  # noqa: S608 - constants
            "WHERE xact_start IS NOT NULL AND application_name IN "
            f"(SELECT '{_SESSIONS}' || left(id, {_PROCESS}) FROM member GROUP BY 1 HAVING bool_and(id = ANY(:dead)))"
        ),
        {"dead": [*dead]},
    )


def evict(connection: Connection, dead: Mapping[str, str]) -> None:
    """Remove these members, by id and token. A member that is renewing has another token and stays."""
    if dead:
        table = schema.member
        same = tuple_(table.c.id, table.c.token).in_([*dead.items()])
        query = select(table.c.id).where(same).order_by(table.c.id).with_for_update(skip_locked=True)
        remove(connection, connection.execute(query).scalars().all())


def remove(connection: Connection, members: Collection[str]) -> None:
    """Remove these members, which frees their shards."""
    if members:
        connection.execute(delete(schema.member).where(schema.member.c.id.in_(members)))
        connection.execute(delete(schema.follows).where(schema.follows.c.member.in_(members)))


def save_needs(connection: Connection, member: str, needs: Collection[ShardName]) -> None:
    """Save the shards that the member needs, if they changed."""
    table, dumped = schema.member, dump_needs(needs)
    others = table.c.needs.is_distinct_from(dumped)
    connection.execute(update(table).where(table.c.id == member, others).values(needs=dumped))


def needs_of_members(connection: Connection) -> dict[str, Collection[ShardName]]:
    """Return the shards that each member needs, if it has saved them."""
    table = schema.member
    rows = connection.execute(select(table.c.id, table.c.needs).where(table.c.needs.is_not(None)))
    return {row.id: load_needs(row.needs) for row in rows}


def needs_of_the_first(connection: Connection, member: str) -> Set[str]:
    """Return the adapter connections needed by members that joined on the same host before this one."""
    others, mine = schema.member.alias("others"), schema.member
    before = tuple_(others.c.joined, others.c.id) < tuple_(mine.c.joined, mine.c.id)
    query = select(others.c.needs).where(mine.c.id == member, others.c.host == mine.c.host, before)
    found = connection.execute(query.where(others.c.needs.is_not(None))).scalars()
    return {name.adapter for needs in found for name in load_needs(needs)}
