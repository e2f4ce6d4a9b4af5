"""Which slot of its connection a target falls into, and which epoch a slot is at.

A slot is the unit in which the right to write is handed on: from a lane to its successor, later from host to host.
"""

import hashlib
from collections.abc import Collection, Mapping
from functools import lru_cache
from itertools import groupby
from typing import Final

from sqlalchemy import Connection, select, text, update

from autoscaler.errors import StaleLedger
from autoscaler.model import TargetRef
from autoscaler.record import schema

SLOTS: Final = 256


@lru_cache(maxsize=65_536)  # every decision asks for it several times a cycle
def slot_of(target: TargetRef) -> int:
    """0 to 255, the same for ever: what is kept in the state depends on it."""
    text = "\0".join((target.name, target.namespace or "", target.region or ""))
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()[0]


def lane_of(target: TargetRef, lanes: int) -> int:
    """Which of this many lanes of its connection serves a target, from 0."""
    return slot_of(target) % lanes


def slots_of(lane: int, lanes: int) -> range:
    """The slots that this one of so many lanes serves: all lanes' together are all, and none is in two."""
    return range(lane, SLOTS, lanes)


def next_epochs(connection: Connection, name: str, slots: Collection[int]) -> Mapping[int, int]:
    """Begin a new epoch of these slots of an adapter connection: slot -> epoch. Older ones can commit no more."""
    table = schema.slot
    schema.insert_absent(
        connection, table, [{"connection": name, "slot": slot, "epoch": 0, "commits": 0} for slot in slots]
    )
    mine = (table.c.connection == name) & table.c.slot.in_(slots)
    connection.execute(update(table).where(mine).values(epoch=table.c.epoch + 1))
    return {row.slot: row.epoch for row in connection.execute(select(table.c.slot, table.c.epoch).where(mine))}


def fence(connection: Connection, name: str, epochs: Mapping[int, int]) -> None:
    """Make sure, by a write, that these epochs are still the newest of their slots. Raises StaleLedger.

    A read would not do: on PostgreSQL, in READ COMMITTED, a successor could begin between it and our commit. The
    write makes that successor wait for our commit, or us see its.
    """
    for epoch, group in groupby(sorted(epochs, key=lambda slot: epochs[slot]), key=lambda slot: epochs[slot]):
        slots = list(group)
        # SQLAlchemy takes several times as long for a list of parameters as the database for the statement
        numbers = ", ".join([str(int(slot)) for slot in slots])
        statement = text(
            "UPDATE slot SET commits = commits + 1 "  # noqa: S608 - whole numbers alone
            f"WHERE connection = :connection AND epoch = :epoch AND slot IN ({numbers})"
        )
        found = connection.execute(statement, {"connection": name, "epoch": epoch})
        if found.rowcount != len(slots):
            raise StaleLedger(
                f"the lane of adapter {name!r} was superseded by another one; what its cycle came to is not recorded"
            )
