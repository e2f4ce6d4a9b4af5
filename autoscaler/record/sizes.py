"""Counts the bytes of recorded cycles, changes and events as they are written and deleted.

A sum over these tables would read millions of rows each minute. Each shard has counters of its own, because commits of
different shards would wait for each other at a counter that they share.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from sqlalchemy import ColumnElement, Connection, Table, delete, func, insert, select

from autoscaler.record import schema

DETAIL: Final = "detail"
HISTORY: Final = "history"
TIERS: Final[Mapping[str, Sequence[Table]]] = {DETAIL: (schema.block,), HISTORY: (schema.change, schema.event)}
"""What `state.maxSize` limits, with the tables that hold it."""
HOUSEKEEPING: Final = "housekeeping"
STEERING_EVENTS: Final = "steering"
"""Writers that are no shard."""
COUNTED: Final = {table: tier for tier, tables in TIERS.items() for table in tables}
"""The tier of each of these tables."""
_EVENT_BYTES: Final = 150
"""Approximate size of an event without its message, including indexes."""
_EIGHTHS: Final = 9
"""Eighths of a body that a database needs for its row."""


def size_of(table: Table) -> ColumnElement[int]:
    """Return the size of a row as it is counted."""
    return func.length(table.c.message) + _EVENT_BYTES if table is schema.event else table.c.size * _EIGHTHS // 8


def insert_counted(connection: Connection, rows: Mapping[Table, Sequence[dict[str, Any]]], writer: str) -> None:
    """Insert rows of these tables. `writer`: the shard, or another writer of which there is one at a time."""
    amounts = dict[str, int]()
    for table, of_table in rows.items():
        if of_table:
            connection.execute(insert(table), of_table)
            name = _counter(COUNTED[table], writer)
            amounts[name] = amounts.get(name, 0) + sum([_size_of(table, row) for row in of_table])
    schema.increase(connection, amounts)


def delete_counted(connection: Connection, table: Table, which: ColumnElement[bool]) -> int:
    """Delete rows of a table for the housekeeping. Returns how many."""
    size = select(func.coalesce(func.sum(size_of(table)), 0)).where(which)
    freed = connection.execute(size).scalar_one()
    rows = connection.execute(delete(table).where(which)).rowcount
    if freed:
        schema.increase(connection, {_counter(COUNTED[table], HOUSEKEEPING): -int(freed)})
    return rows


def counted_bytes(connection: Connection) -> Mapping[str, int]:
    """Return the bytes of each tier."""
    c, found = schema.counter.c, dict.fromkeys(TIERS, 0)
    for row in connection.execute(select(c.name, c.value)):
        tier, *of = row.name.split(" ", 1)
        if of and tier in found:
            found[tier] += row.value
    return found


def _counter(tier: str, writer: str) -> str:
    return f"{tier} {writer}"


def _size_of(table: Table, row: Mapping[str, Any]) -> int:
    size: int = len(row["message"]) + _EVENT_BYTES if table is schema.event else row["size"] * _EIGHTHS // 8
    return size
