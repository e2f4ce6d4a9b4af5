"""Deletes one autoscaler from the state, for `autoscaler forget`."""

from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

from sqlalchemy import URL, Connection, and_, delete, select

from autoscaler.errors import StateError
from autoscaler.model import ShardName, TargetRef
from autoscaler.record import database as databases
from autoscaler.record import schema, versions
from autoscaler.record.database import Database, FileLock, opened
from autoscaler.record.entries import target_from
from autoscaler.record.housekeeping import delete_all_of
from autoscaler.record.locks import Lock, wait_for
from autoscaler.record.member_rows import database_time


def forget(url: str | None, state_dir: Path, name: str) -> Sequence[TargetRef]:
    """Release an autoscaler's claims and delete everything about it, its history included.

    Returns the targets that it had. Raises StateError, also if a live daemon serves it or the state does not know it.
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
                    f"autoscaler {name!r} is served by {holder}; first remove it from that daemon's configuration and "
                    "reload, or stop that daemon"
                )
            owner = schema.autoscaler.c
            found = connection.execute(select(owner.id, owner.target).where(owner.name == name)).all()
            if not found:
                raise StateError(f"{databases.place(where)} knows nothing of an autoscaler {name!r}")
            targets = [target_from(row.target) for row in found]
            delete_all_of(connection, found)
            _release(connection, name, targets)
    return targets


def _release(connection: Connection, name: str, targets: Sequence[TargetRef]) -> None:
    """Delete the claims on the name and on these targets, which the same shard made in the same epoch."""
    serves = schema.serves
    of_name = (serves.c.kind == schema.NAME) & (serves.c.key == name)
    claim = connection.execute(select(serves).where(of_name)).one_or_none()
    if claim is None:
        return
    same = and_(*[serves.c[key] == getattr(claim, key) for key in ("connection", "shards", "shard", "epoch")])
    names = {target.name for target in targets}
    others = connection.execute(select(serves.c.key).where(same, serves.c.kind == schema.TARGET)).scalars()
    # a claim has the connection's defaults written out, so only the names are compared; none of these claims is valid
    keys = [key for key in others if target_from(key).name in names]
    connection.execute(delete(serves).where(of_name | (serves.c.kind == schema.TARGET) & serves.c.key.in_(keys)))


def _is_unused(where: URL, leaving: ExitStack) -> bool:
    """Return whether no daemon uses an SQLite state. If none does, none can start until `leaving` ends."""
    try:
        leaving.callback(FileLock(where).release)
    except StateError:
        return False
    return True


def _holder(connection: Connection, name: str) -> str | None:
    """Return the shard and the live daemon with a claim on the autoscaler; None if there is none."""
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
    return f"shard {ShardName(row.connection, row.shard, row.shards)} of {row.place or 'the running daemon'}"
