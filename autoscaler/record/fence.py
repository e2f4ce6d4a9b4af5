"""The fence: which generation leads, and the epoch of each shard. One row; each commit of a shard checks it.

A daemon that begins to lead begins a **generation**, a shard that begins a new **epoch**. Both are random, so none is
ever used again, whatever backup is restored or lagging server is promoted.
"""

from datetime import datetime
from typing import Final
from uuid import uuid4

import msgspec
from sqlalchemy import Connection, select, text, update

from autoscaler.errors import StaleLedger, StateError
from autoscaler.model import ShardName
from autoscaler.record import schema
from autoscaler.record.daemons import NOW
from autoscaler.record.times import from_micros


class _Shards(msgspec.Struct, array_like=True):
    """The shards of one adapter connection."""

    of: int
    """How many it has. Shards of another number may not commit: these may serve their targets now."""
    epochs: dict[int, str]
    """Number of a shard -> its epoch."""


_TABLE: Final = schema.fence
_EPOCHS: Final = msgspec.json.Decoder(dict[str, _Shards])


def begin_generation(connection: Connection, generation: str) -> None:
    """End every epoch; only shards of this generation can begin one."""
    keep_from_committing(connection)
    connection.execute(update(_TABLE).values(generation=generation, epochs="{}"))


def next_epoch(connection: Connection, name: ShardName, generation: str) -> str:
    """Begin a new epoch of a shard. Older epochs can no longer commit. Raises StateError if another daemon leads.

    The same holds for the connection's shards of another `shards`, because this shard may serve their targets now.
    """
    keep_from_committing(connection)
    query = select(_TABLE.c.epochs).where(_TABLE.c.generation == generation)
    found: str | None = connection.execute(query).scalar()
    if found is None:
        raise StateError("another daemon has become the leader")
    epochs, epoch = _EPOCHS.decode(found), uuid4().hex
    known = epochs.get(name.adapter)
    if known is None or known.of != name.of:
        known = epochs[name.adapter] = _Shards(name.of, {})
    known.epochs[name.number] = epoch
    connection.execute(update(_TABLE).values(epochs=msgspec.json.encode(epochs).decode()))
    return epoch


def fence(connection: Connection, name: ShardName, generation: str, epoch: str) -> datetime | None:
    """Ensure that this epoch is the newest of its shard until the commit. Raises StaleLedger.

    Returns PostgreSQL's clock; None on SQLite.

    Locks the row, so that no successor can begin between this check and the commit. On SQLite only one transaction
    writes at a time, from its beginning.
    """
    if connection.dialect.name == "postgresql":
        row = connection.execute(_LOCK, {"generation": generation}).one_or_none()
    else:
        row = connection.execute(_READ, {"generation": generation}).one_or_none()
    known = None if row is None else _EPOCHS.decode(row.epochs).get(name.adapter)
    if row is None or known is None or known.of != name.of or known.epochs.get(name.number) != epoch:
        raise superseded(name)
    return None if row.now is None else from_micros(row.now)


def is_newest(connection: Connection, generation: str | None) -> bool:
    """Return whether no later generation has begun. Locks nothing, so one can begin before the commit."""
    newest: str = connection.execute(select(_TABLE.c.generation)).scalar_one()
    return newest == generation


def superseded(name: ShardName) -> StaleLedger:
    """Return the error of a shard whose epoch is over."""
    return StaleLedger(f"shard {name} was superseded; the result of its cycle is not recorded")


_READ: Final = text("SELECT NULL AS now, epochs FROM fence WHERE generation = :generation")
_LOCK: Final = text(
    f"SELECT {NOW} AS now, epochs FROM fence WHERE generation = :generation FOR SHARE"  # noqa: S608 - constants
)


def keep_from_committing(connection: Connection) -> None:
    """Keep shards from committing until this transaction ends. On SQLite only one transaction writes anyway.

    Waits in one queue with the commits. A lock of the row would wait for ever while the commits of many shards overlap,
    because PostgreSQL lets further FOR SHARE locks pass a waiting FOR UPDATE.
    """
    if connection.dialect.name == "postgresql":
        connection.execute(text("LOCK TABLE fence IN EXCLUSIVE MODE"))
