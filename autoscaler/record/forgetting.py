"""What the state knows of one autoscaler, deleted by hand."""

from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

from sqlalchemy import URL, Connection, delete, select

from autoscaler.errors import StateError
from autoscaler.model import ShardName, TargetRef
from autoscaler.record import database as databases
from autoscaler.record import schema, versions
from autoscaler.record.database import Database, FileLock, opened
from autoscaler.record.entries import target_from
from autoscaler.record.housekeeping import delete_all_of
from autoscaler.record.leases import database_time
from autoscaler.record.locks import Lock, wait_for


def forget(url: str | None, state_dir: Path, name: str) -> Sequence[TargetRef]:
    """Release an autoscaler's claim and delete all that is known of it, its history included.

    Returns the targets that it had. Raises StateError; where a live daemon serves it, or nothing is known of it.
    """
    where = databases.locate(url, state_dir)
    with opened(where, read_only=True) as connection:
        versions.require_state(connection, databases.place(where))
    with ExitStack() as leaving:
        alone = where.get_backend_name() == "sqlite" and _is_unused(where, leaving)
        database = Database(where)
        leaving.callback(database.close)
        with database.writing() as connection:
            wait_for(connection, Lock.CLAIMS)
            wait_for(connection, Lock.HOUSEKEEPING)
            holder = None if alone else _holder(connection, name)
            if holder is not None:
                raise StateError(
                    f"autoscaler {name!r} is served by {holder}; take it out of that daemon's configuration and reload "
                    "it, or stop that daemon, first"
                )
            owner, serves = schema.autoscaler.c, schema.serves
            found = connection.execute(select(owner.id, owner.target).where(owner.name == name)).all()
            if not found:
                raise StateError(f"{databases.place(where)} knows nothing of an autoscaler {name!r}")
            delete_all_of(connection, found)
            connection.execute(delete(serves).where(serves.c.kind == schema.NAME, serves.c.key == name))
    return [target_from(row.target) for row in found]


def _is_unused(where: URL, leaving: ExitStack) -> bool:
    """Whether no daemon uses an SQLite state; none begins to, then, until the end."""
    try:
        leaving.callback(FileLock(where).release)
    except StateError:
        return False
    return True


def _holder(connection: Connection, name: str) -> str | None:
    """The shard and the live daemon that have claimed an autoscaler; None: none has."""
    shard, serves, member = schema.shard.c, schema.serves, schema.member.c
    query = (
        select(shard.connection, shard.shard, shard.shards, member.place)
        .join(serves, schema.IN_FORCE)
        .join(schema.member, member.id == shard.holder, isouter=True)
        .where(serves.c.kind == schema.NAME, serves.c.key == name)
    )
    if connection.dialect.name == "postgresql":
        query = query.where(member.renewed + member.duration > database_time(connection))
    row = connection.execute(query).one_or_none()
    if row is None:
        return None
    return f"shard {ShardName(row.connection, row.shard, row.shards)} of {row.place or 'the daemon that runs'}"
