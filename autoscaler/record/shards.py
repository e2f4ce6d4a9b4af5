"""Which epoch a shard is at, and which member holds it.

Whoever begins to serve a shard begins a new epoch of it. Every commit makes sure that its epoch is still the newest.

An epoch is a count, and above it (from bit 28) the state's incarnation, which rises when a backup is restored: what was
begun after that backup is never begun again. On PostgreSQL the member that holds a shard is compared as well: an
epoch of a server that failed may be begun again on a standby that had not heard of it.
"""

from collections.abc import Collection, Mapping
from typing import Any, Final

from sqlalchemy import ColumnElement, Connection, delete, select, text, tuple_, update

from autoscaler.errors import StaleLedger, StateError
from autoscaler.model import ShardName
from autoscaler.record import schema

_COUNT_BITS: Final = 28
_TABLE: Final = schema.shard
_SERVES: Final = schema.serves
_KEY: Final = (_TABLE.c.connection, _TABLE.c.shard, _TABLE.c.shards)
"""In the order of a ShardName's fields."""


def next_epoch(connection: Connection, name: ShardName, member: str | None = None) -> int:
    """Begin a new epoch of a shard. Older ones can commit no more. Raises StateError.

    Neither can those of the connection's shards that were there with another number of shards: the same process had
    them, and this one may serve their targets.

    `member`: who must hold it, on PostgreSQL.
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
    """Which of these members hold which shards."""
    found = connection.execute(select(*_KEY, _TABLE.c.holder).where(_TABLE.c.holder.in_(live)))
    return {ShardName(*key): holder for *key, holder in found}


def take(connection: Connection, member: str, live: Collection[str], names: Collection[ShardName]) -> None:
    """Let the member hold those among these shards that nobody else of `live` holds.

    One that a commit still uses, of a member that is gone, is left for another time.
    """
    if not names:
        return
    _insert_absent(connection, names)
    free = _TABLE.c.holder.is_(None) | _TABLE.c.holder.not_in(live)
    found = _lock(connection, _among(names) & free, waiting=False)
    connection.execute(update(_TABLE).where(_among(found)).values(holder=member))


def give_back(connection: Connection, member: str, names: Collection[ShardName]) -> None:
    """Let anybody have these shards of the member, and what they had claimed.

    One that a commit still uses is left for another time.
    """
    if names:
        found = _lock(connection, _among(names) & (_TABLE.c.holder == member), waiting=False)
        connection.execute(update(_TABLE).where(_among(found)).values(holder=None))
        connection.execute(delete(_SERVES).where(_claims_of(found)))


def fence_off(connection: Connection, names: Collection[ShardName], member: str) -> Collection[ShardName]:
    """End the epochs of those among these shards whose holders are gone. Returns them, and those that `member` holds.

    One that a commit still uses is left for another time.
    """
    if not names:
        return ()
    gone = _TABLE.c.holder.is_(None) | _TABLE.c.holder.not_in(select(schema.member.c.id))
    found = _lock(connection, _among(names) & (gone | (_TABLE.c.holder == member)), waiting=False)
    of_others = _among(found) & (_TABLE.c.holder != member)
    connection.execute(update(_TABLE).where(of_others).values(epoch=_TABLE.c.epoch + 1))
    return found


def fence(connection: Connection, name: ShardName, epoch: int, member: str | None = None) -> None:
    """Make sure that this epoch is still the newest of its shard, until the commit. Raises StaleLedger.

    A mere read would not do: on PostgreSQL, in READ COMMITTED, a successor could begin between it and our commit. So
    the row is locked (on SQLite by a write): a successor waits for our commit, or we see its.

    `member`: on PostgreSQL, who must hold it.
    """
    row = {**columns_of(name), "epoch": epoch}
    if member is None:
        stands = connection.execute(_COUNT, row).rowcount == 1
    else:
        stands = connection.execute(_LOCK, {**row, "holder": member}).first() is not None
    if not stands:
        raise StaleLedger(f"shard {name} was superseded by another one; what its cycle came to is not recorded")


_IT: Final = "connection = :connection AND shards = :shards AND shard = :shard AND epoch = :epoch"
_COUNT: Final = text(f"UPDATE shard SET commits = commits + 1 WHERE {_IT}")  # noqa: S608 - constants
_LOCK: Final = text(f"SELECT 1 FROM shard WHERE {_IT} AND holder = :holder FOR UPDATE")  # noqa: S608 - constants


def incarnation_of(connection: Connection) -> int:
    """When the state was restored from a backup last, in seconds since 1970; 0: never."""
    count = select(schema.counter.c.value).where(schema.counter.c.name == schema.INCARNATION)
    return connection.execute(count).scalar_one_or_none() or 0


def begin_incarnation(connection: Connection, incarnation: int) -> None:
    """No epoch of before is the newest of its shard any more, nor ever again; and nobody holds a shard."""
    schema.upsert(connection, schema.counter, [{"name": schema.INCARNATION, "value": incarnation}])
    connection.execute(update(_TABLE).values(epoch=incarnation << _COUNT_BITS, holder=None))
    connection.execute(delete(_SERVES))


def columns_of(name: ShardName) -> dict[str, Any]:
    """What names it in a row."""
    return {"connection": name.adapter, "shards": name.of, "shard": name.number}


def _is(name: ShardName) -> ColumnElement[bool]:
    return _among([name])


def _among(names: Collection[ShardName]) -> ColumnElement[bool]:
    return tuple_(*_KEY).in_([(name.adapter, name.number, name.of) for name in names])


def _claims_of(names: Collection[ShardName]) -> ColumnElement[bool]:
    key = tuple_(_SERVES.c.connection, _SERVES.c.shard, _SERVES.c.shards)
    return key.in_([(name.adapter, name.number, name.of) for name in names])


def _lock(connection: Connection, of: ColumnElement[bool], *, waiting: bool = True) -> Collection[ShardName]:
    """Lock these shards, in order: who waits for several waits in one direction.

    Without `waiting`: only those that nobody else has locked.
    """
    query = select(*_KEY).where(of).order_by(*_KEY).with_for_update(skip_locked=not waiting)
    return [ShardName(*key) for key in connection.execute(query)]


def _insert_absent(connection: Connection, names: Collection[ShardName]) -> None:
    first = incarnation_of(connection) << _COUNT_BITS
    rows = [{**columns_of(name), "epoch": first, "commits": 0} for name in sorted(names)]
    schema.insert_absent(connection, _TABLE, rows)
