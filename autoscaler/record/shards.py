"""The epoch of each shard, and the member that holds it.

A daemon that begins to serve a shard begins a new epoch. Each commit checks that its epoch is still the newest.

The low 28 bits of an epoch count; the high bits are the state's incarnation, which increases when a backup is restored.
So no epoch after the backup is ever used again. On PostgreSQL a commit also checks the shard's holder, because a
lagging standby that is promoted can begin an epoch a second time.
"""

from collections.abc import Collection, Mapping
from datetime import datetime
from typing import Any, Final

from sqlalchemy import ColumnElement, Connection, delete, select, text, tuple_, update

from autoscaler.errors import StaleLedger, StateError
from autoscaler.model import ShardName
from autoscaler.record import schema
from autoscaler.record.member_rows import NOW
from autoscaler.record.times import from_micros

_COUNT_BITS: Final = 28
_TABLE: Final = schema.shard
_SERVES: Final = schema.serves
_KEY: Final = (_TABLE.c.connection, _TABLE.c.shard, _TABLE.c.shards)
"""The columns in the order of a ShardName's fields."""


def next_epoch(connection: Connection, name: ShardName, member: str | None = None) -> int:
    """Begin a new epoch of a shard. Older epochs can no longer commit. Raises StateError.

    The same holds for the connection's shards of another `shards`, because this shard may serve their targets now.

    `member`: the required holder, on PostgreSQL.
    """
    of_same_targets = (_TABLE.c.connection == name.adapter) & ((_TABLE.c.shards != name.of) | _is(name))
    if member is None:
        _insert_absent(connection, [name])
    else:
        of_same_targets &= _TABLE.c.holder == member
        _lock(connection, of_same_targets)
    connection.execute(update(_TABLE).where(of_same_targets).values(epoch=_TABLE.c.epoch + 1))
    epoch: int | None = connection.execute(select(_TABLE.c.epoch).where(of_same_targets & _is(name))).scalar()
    if epoch is None:
        raise StateError(f"shard {name} was taken over by another daemon")
    before = _claims_of([name]) & (_SERVES.c.epoch == epoch - 1)
    connection.execute(update(_SERVES).where(before).values(epoch=epoch))
    return epoch


def read_holders(connection: Connection, live: Collection[str]) -> Mapping[ShardName, str]:
    """Return shard -> holder, for the shards that these members hold."""
    found = connection.execute(select(*_KEY, _TABLE.c.holder).where(_TABLE.c.holder.in_(live)))
    return {ShardName(*key): holder for *key, holder in found}


def take(connection: Connection, member: str, live: Collection[str], names: Collection[ShardName]) -> None:
    """Make the member the holder of those of these shards that no member of `live` holds.

    Skips a shard that a commit of a removed member still locks.
    """
    if not names:
        return
    _insert_absent(connection, names)
    free = _TABLE.c.holder.is_(None) | _TABLE.c.holder.not_in(live)
    found = _lock(connection, _among(names) & free, waiting=False)
    connection.execute(update(_TABLE).where(_among(found)).values(holder=member))


def give_back(connection: Connection, member: str, names: Collection[ShardName]) -> None:
    """Free these shards of the member, and their claims. Skips a shard that a commit still locks."""
    if names:
        found = _lock(connection, _among(names) & (_TABLE.c.holder == member), waiting=False)
        connection.execute(update(_TABLE).where(_among(found)).values(holder=None))
        connection.execute(delete(_SERVES).where(_claims_of(found)))


def release(connection: Connection, over: Collection[tuple[ShardName, int]]) -> None:
    """Delete the claims of these shards and epochs. Claims that moved to a later epoch stay."""
    key = tuple_(_SERVES.c.connection, _SERVES.c.shard, _SERVES.c.shards, _SERVES.c.epoch)
    rows = [(name.adapter, name.number, name.of, epoch) for name, epoch in over]
    connection.execute(delete(_SERVES).where(key.in_(rows)))


def fence_off(connection: Connection, names: Collection[ShardName], member: str) -> Collection[ShardName]:
    """End the epochs of those of these shards whose holders are gone. Returns these, and the shards of `member`.

    Skips a shard that a commit still locks.
    """
    if not names:
        return ()
    gone = _TABLE.c.holder.is_(None) | _TABLE.c.holder.not_in(select(schema.member.c.id))
    found = _lock(connection, _among(names) & (gone | (_TABLE.c.holder == member)), waiting=False)
    of_others = _among(found) & (_TABLE.c.holder != member)
    connection.execute(update(_TABLE).where(of_others).values(epoch=_TABLE.c.epoch + 1))
    return found


def keep_from_committing(connection: Connection, adapter: str, number: int) -> None:
    """Lock the rows of the shards of an adapter connection with this number. On SQLite only one transaction writes."""
    _lock(connection, (_TABLE.c.connection == adapter) & (_TABLE.c.shard == number))


def fence(connection: Connection, name: ShardName, epoch: int, member: str | None = None) -> datetime | None:
    """Ensure that this epoch is the newest of its shard until the commit. Raises StaleLedger.

    Returns PostgreSQL's clock; None on SQLite.

    Locks the row (on SQLite by a write), so that no successor can begin between this check and the commit.

    `member`: the required holder, on PostgreSQL.
    """
    row = {**columns_of(name), "epoch": epoch}
    if member is None:
        now, stands = None, connection.execute(_COUNT, row).rowcount == 1
    else:
        now = connection.execute(_LOCK, {**row, "holder": member}).scalar()
        stands = now is not None
    if not stands:
        raise StaleLedger(f"shard {name} was superseded; the result of its cycle is not recorded")
    return None if now is None else from_micros(now)


_IT: Final = "connection = :connection AND shards = :shards AND shard = :shard AND epoch = :epoch"
_COUNT: Final = text(f"UPDATE shard SET commits = commits + 1 WHERE {_IT}")  # noqa: S608 - constants
_LOCK: Final = text(f"SELECT {NOW} FROM shard WHERE {_IT} AND holder = :holder FOR UPDATE")  # noqa: S608 - constants


def incarnation_of(connection: Connection) -> int:
    """Return when the state was last restored from a backup, in seconds since 1970; 0 if never."""
    count = select(schema.counter.c.value).where(schema.counter.c.name == schema.INCARNATION)
    return connection.execute(count).scalar_one_or_none() or 0


def begin_incarnation(connection: Connection, incarnation: int) -> None:
    """End every epoch, so that none is ever used again. Free every shard and claim."""
    schema.upsert(connection, schema.counter, [{"name": schema.INCARNATION, "value": incarnation}])
    connection.execute(update(_TABLE).values(epoch=incarnation << _COUNT_BITS, holder=None))
    connection.execute(delete(_SERVES))


def columns_of(name: ShardName) -> dict[str, Any]:
    """Return the columns of a shard's name."""
    return {"connection": name.adapter, "shards": name.of, "shard": name.number}


def _is(name: ShardName) -> ColumnElement[bool]:
    return _among([name])


def _among(names: Collection[ShardName]) -> ColumnElement[bool]:
    return tuple_(*_KEY).in_([(name.adapter, name.number, name.of) for name in names])


def _claims_of(names: Collection[ShardName]) -> ColumnElement[bool]:
    key = tuple_(_SERVES.c.connection, _SERVES.c.shard, _SERVES.c.shards)
    return key.in_([(name.adapter, name.number, name.of) for name in names])


def _lock(connection: Connection, of: ColumnElement[bool], *, waiting: bool = True) -> Collection[ShardName]:
    """Lock these shards, in one order to prevent deadlocks, and return them. Without `waiting`, skips locked ones."""
    query = select(*_KEY).where(of).order_by(*_KEY).with_for_update(skip_locked=not waiting)
    return [ShardName(*key) for key in connection.execute(query)]


def _insert_absent(connection: Connection, names: Collection[ShardName]) -> None:
    first = incarnation_of(connection) << _COUNT_BITS
    rows = [{**columns_of(name), "epoch": first, "commits": 0} for name in sorted(names)]
    schema.insert_absent(connection, _TABLE, rows)
