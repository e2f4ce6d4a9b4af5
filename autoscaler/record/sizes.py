"""Counts the bytes of recorded cycles, changes and events as they are written and deleted.

A sum over these tables would read millions of rows each minute. Each writer has counters of its own, because commits of
different shards would wait for each other at a counter that they share.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from sqlalchemy import ColumnElement, Connection, Table, delete, func, insert, select, update

from autoscaler.record import schema

DETAIL: Final = "detail"
HISTORY: Final = "history"
TIERS: Final[Mapping[str, Sequence[Table]]] = {DETAIL: (schema.block,), HISTORY: (schema.change, schema.event)}
"""What `state.maxSize` limits, with the tables that hold it."""
COUNTED: Final = {table: tier for tier, tables in TIERS.items() for table in tables}
"""The tier of each of these tables."""
_EVENT_BYTES: Final = 150
"""Approximate size of an event without its message, including indexes."""
_EIGHTHS: Final = 9
"""Eighths of a body that a database needs for its row."""


class Bytes(NamedTuple):
    """Bytes of each tier."""

    detail: int
    history: int

    @property
    def total(self) -> int:
        """Those of both."""
        return self.detail + self.history


def size_of(table: Table) -> ColumnElement[int]:
    """Return the size of a row as it is counted."""
    return func.length(table.c.message) + _EVENT_BYTES if table is schema.event else table.c.size * _EIGHTHS // 8


def insert_rows(connection: Connection, rows: Mapping[Table, Sequence[dict[str, Any]]]) -> Bytes:
    """Insert rows of these tables. Returns their bytes, which the writer has to count."""
    amounts = dict.fromkeys(TIERS, 0)
    for table, of_table in rows.items():
        if of_table:
            connection.execute(insert(table), of_table)
            amounts[COUNTED[table]] += sum([_size_of(table, row) for row in of_table])
    return Bytes(**amounts)


def delete_rows(connection: Connection, table: Table, which: ColumnElement[bool]) -> int:
    """Delete rows of a table for the housekeeping. Returns how many."""
    if table not in COUNTED:
        return connection.execute(delete(table).where(which)).rowcount
    size = select(func.coalesce(func.sum(size_of(table)), 0)).where(which)
    freed = dict.fromkeys(TIERS, 0) | {COUNTED[table]: -int(connection.execute(size).scalar_one())}
    rows = connection.execute(delete(table).where(which)).rowcount
    count_bytes(connection, schema.HOUSEKEEPING, Bytes(**freed))
    return rows


def count_bytes(connection: Connection, writer: int, written: Bytes) -> None:
    """Count bytes of this writer, of which there is one at a time."""
    if any(written):
        c = schema.writer.c
        values = {"detail": c.detail + written.detail, "history": c.history + written.history}
        connection.execute(update(schema.writer).where(c.id == writer).values(values))


def counted_bytes(connection: Connection) -> Bytes:
    """Return the bytes of all writers."""
    c = schema.writer.c
    row = connection.execute(select(func.sum(c.detail), func.sum(c.history))).one()
    return Bytes(int(row[0]), int(row[1]))


def _size_of(table: Table, row: Mapping[str, Any]) -> int:
    size: int = len(row["message"]) + _EVENT_BYTES if table is schema.event else row["size"] * _EIGHTHS // 8
    return size
