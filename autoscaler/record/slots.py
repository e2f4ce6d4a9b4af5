"""Which slot of its connection a target falls into, which epoch a slot is at, and which member holds it.

A slot is the unit in which the right to write is handed on: from a shard to its successor, and from host to host.

An epoch is a count, and above it (from bit 28) the state's incarnation, which rises when a backup is restored: what was
begun after that backup is never begun again. On PostgreSQL the member that holds a slot is compared as well: an
epoch of a server that failed may be begun again on a standby that had not heard of it.
"""

import hashlib
from collections.abc import Collection, Mapping, Sequence
from functools import lru_cache
from itertools import groupby
from typing import Any, Final

from sqlalchemy import ColumnElement, Connection, select, text, update

from autoscaler.errors import StaleLedger
from autoscaler.model import TargetRef
from autoscaler.record import schema
from autoscaler.record.sharing import Place

SLOTS: Final = 256
_COUNT_BITS: Final = 28


@lru_cache(maxsize=65_536)  # every decision asks for it several times a cycle
def slot_of(target: TargetRef) -> int:
    """0 to 255, the same for ever: what is kept in the state depends on it."""
    text = "\0".join((target.name, target.namespace or "", target.region or ""))
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()[0]


def shard_of(target: TargetRef, shards: int) -> int:
    """Which of this many shards of its connection serves a target, from 0."""
    return slot_of(target) % shards


def slots_of(shard: int, shards: int) -> range:
    """The slots that this one of so many shards serves: all shards' together are all, and none is in two."""
    return range(shard, SLOTS, shards)


def next_epochs(
    connection: Connection, name: str, slots: Collection[int], member: str | None = None
) -> Mapping[int, int]:
    """Begin a new epoch of these slots of an adapter connection: slot -> epoch. Older ones can commit no more.

    `member`: only of those that it holds; None, on SQLite: of all.
    """
    table = schema.slot
    mine = (table.c.connection == name) & table.c.slot.in_(slots)
    if member is None:
        _insert_absent(connection, [(name, slot) for slot in slots])
    else:
        mine &= table.c.holder == member
        _lock(connection, mine)
    connection.execute(update(table).where(mine).values(epoch=table.c.epoch + 1))
    return {row.slot: row.epoch for row in connection.execute(select(table.c.slot, table.c.epoch).where(mine))}


def read_slots(connection: Connection, names: Collection[str]) -> Mapping[Place, Any]:
    """Epoch and holder of every slot of these adapter connections that was ever served."""
    table = schema.slot
    query = select(table.c.connection, table.c.slot, table.c.epoch, table.c.holder)
    rows = connection.execute(query.where(table.c.connection.in_(names)))
    return {(row.connection, row.slot): row for row in rows}


def take_slots(
    connection: Connection, member: str, live: Collection[str], places: Collection[Place]
) -> Mapping[Place, int]:
    """Give the member those among these slots that nobody else of `live` holds, each in a new epoch.

    One that a commit still uses, of a member that is gone, is left for another time.
    """
    table = schema.slot
    _insert_absent(connection, places)
    taken = dict[Place, int]()
    for name, slots in _by_connection(places).items():
        free = table.c.holder.is_(None) | (table.c.holder == member) | table.c.holder.not_in(live)
        found = _lock(connection, (table.c.connection == name) & table.c.slot.in_(slots) & free, waiting=False)
        mine = (table.c.connection == name) & table.c.slot.in_(found)
        given = update(table).where(mine).values(holder=member, epoch=table.c.epoch + 1)
        for row in connection.execute(given.returning(table.c.slot, table.c.epoch)):
            taken[name, row.slot] = row.epoch
    return taken


def give_back(connection: Connection, member: str, slots: Mapping[str, Collection[int]]) -> None:
    """Let anybody have these slots of the member. One that a commit still uses is left for another time."""
    table = schema.slot
    for name, numbers in slots.items():
        mine = (table.c.connection == name) & (table.c.holder == member) & table.c.slot.in_(numbers)
        found = _lock(connection, mine, waiting=False)
        connection.execute(update(table).where(table.c.connection == name, table.c.slot.in_(found)).values(holder=None))


def _lock(connection: Connection, of: ColumnElement[bool], *, waiting: bool = True) -> Sequence[int]:
    """Lock these slots of one adapter connection, in order: who waits for several waits in one direction.

    Without `waiting`: only those that nobody else has locked.
    """
    query = select(schema.slot.c.slot).where(of).order_by(schema.slot.c.slot)
    return connection.execute(query.with_for_update(skip_locked=not waiting)).scalars().all()


def _insert_absent(connection: Connection, places: Collection[Place]) -> None:
    first = incarnation_of(connection) << _COUNT_BITS
    rows = [{"connection": name, "slot": slot, "epoch": first, "commits": 0} for name, slot in places]
    schema.insert_absent(connection, schema.slot, rows)


def incarnation_of(connection: Connection) -> int:
    """When the state was restored from a backup last, in seconds since 1970; 0: never."""
    count = select(schema.counter.c.value).where(schema.counter.c.name == schema.INCARNATION)
    return connection.execute(count).scalar_one_or_none() or 0


def begin_incarnation(connection: Connection, incarnation: int) -> None:
    """No epoch of before is the newest of its slot any more, nor ever again; and nobody holds a slot."""
    schema.upsert(connection, schema.counter, [{"name": schema.INCARNATION, "value": incarnation}])
    connection.execute(update(schema.slot).values(epoch=incarnation << _COUNT_BITS, holder=None))


def _by_connection(places: Collection[Place]) -> Mapping[str, Collection[int]]:
    found = dict[str, list[int]]()
    for name, slot in sorted(places):
        found.setdefault(name, []).append(slot)
    return found


def fence(connection: Connection, name: str, epochs: Mapping[int, int], member: str | None = None) -> None:
    """Make sure that these epochs are still the newest of their slots, until the commit. Raises StaleLedger.

    A mere read would not do: on PostgreSQL, in READ COMMITTED, a successor could begin between it and our commit. So
    the rows are locked (on SQLite by a write): a successor waits for our commit, or we see its.

    `member`: on PostgreSQL, who must hold them.
    """
    if epochs and not (_is_held(connection, name, epochs, member) if member else _is_newest(connection, name, epochs)):
        raise StaleLedger(
            f"the shard of adapter {name!r} was superseded by another one; what its cycle came to is not recorded"
        )


def _is_held(connection: Connection, name: str, epochs: Mapping[int, int], member: str) -> bool:
    query = text(
        "SELECT slot, epoch FROM slot WHERE connection = :connection AND holder = :holder "  # noqa: S608 - whole numbers alone
        f"AND slot IN ({_numbers(epochs)}) ORDER BY slot FOR UPDATE"
    )
    found = connection.execute(query, {"connection": name, "holder": member})
    return {row.slot: row.epoch for row in found} == epochs


def _is_newest(connection: Connection, name: str, epochs: Mapping[int, int]) -> bool:
    for epoch, slots in groupby(sorted(epochs, key=lambda slot: epochs[slot]), key=lambda slot: epochs[slot]):
        mine = list(slots)
        statement = text(
            "UPDATE slot SET commits = commits + 1 "  # noqa: S608 - whole numbers alone
            f"WHERE connection = :connection AND epoch = :epoch AND slot IN ({_numbers(mine)})"
        )
        if connection.execute(statement, {"connection": name, "epoch": epoch}).rowcount != len(mine):
            return False
    return True


def _numbers(slots: Collection[int]) -> str:
    """For a statement: SQLAlchemy takes several times as long for a list of parameters as the database for it all."""
    return ", ".join([str(int(slot)) for slot in slots])
