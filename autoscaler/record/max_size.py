"""Deletes the oldest data when the state is larger than `state.maxSize`."""

from collections.abc import Sequence
from typing import Any, Final

from sqlalchemy import ColumnElement, Connection, Table, delete, func, select, text, union_all

from autoscaler.record import schema

_ROWS_AT_ONCE: Final = 1_000
_LAST_HOUR: Final = 3_600_000_000
"""Age that is never deleted, in microseconds."""
_EVENT_BYTES: Final = 150
"""Approximate size of an event without its message, including indexes."""

DETAIL: Final = "detail"
HISTORY: Final = "history"
TIERS: Final = ((DETAIL, (schema.block,)), (HISTORY, (schema.change, schema.event)))
"""What is deleted, in this order, with the tables that hold it."""


def live_bytes(connection: Connection) -> int:
    """Return the size of the state's data, without freed space that is used again later."""
    if connection.dialect.name == "sqlite":
        pages, free, size = (
            connection.execute(text(f"PRAGMA {name}")).scalar_one()
            for name in ("page_count", "freelist_count", "page_size")
        )
        return int((pages - free) * size)
    total = 0
    for table in schema.metadata.sorted_tables:
        if "body" in table.c or table is schema.event:
            # PostgreSQL knows only a table's size on disk, with deleted rows until its vacuum
            total += connection.execute(select(func.coalesce(func.sum(_size(table)), 0))).scalar_one()
        else:
            total += connection.execute(select(func.pg_total_relation_size(table.name))).scalar_one()
    return int(total)


def _size(table: Table) -> ColumnElement[Any]:
    if table is schema.event:
        return func.length(table.c.message) + _EVENT_BYTES
    return table.c.size if "size" in table.c else func.length(table.c.body)


def cut(connection: Connection, max_bytes: int, now: int) -> bool:
    """Delete some of the oldest data if there is more than `max_bytes`. Returns whether something was deleted.

    The oldest detail goes first, down to half of `max_bytes`, then the oldest of the rest, then the rest of detail: the
    events of an outage leave its decisions. The last hour and the autoscalers' memories are kept.
    """
    excess, deleted = live_bytes(connection) - max_bytes, False
    if excess <= 0:
        return False
    detail = connection.execute(select(func.coalesce(func.sum(schema.block.c.size), 0))).scalar_one()
    for (tier, tables), most in ((TIERS[0], detail - max_bytes // 2), (TIERS[1], excess), (TIERS[0], excess)):
        wanted = min(most, excess)
        if wanted <= 0:
            continue
        freed, rows = _cut_oldest(connection, tier, tables, wanted, now)
        deleted |= rows > 0
        if rows == _ROWS_AT_ONCE:  # the next pass goes on here
            break
        excess -= freed
    return deleted


def _cut_oldest(connection: Connection, tier: str, tables: Sequence[Table], excess: int, now: int) -> tuple[int, int]:
    """Delete the tier's oldest rows until `excess` bytes are freed. Returns the bytes freed, and from how many rows."""
    parts = []
    for table in tables:
        at = schema.newest_time(table)
        oldest = select(at.label("at"), _size(table).label("size")).where(at < now - _LAST_HOUR)
        parts.append(select(oldest.order_by(at).limit(_ROWS_AT_ONCE).subquery()))
    found = union_all(*parts).subquery()
    freed = rows = last = 0
    for at, size in connection.execute(select(found).order_by(found.c.at).limit(_ROWS_AT_ONCE)):
        if freed >= excess:
            break
        freed, rows, last = freed + size, rows + 1, at
    if rows:
        for table in tables:
            connection.execute(delete(table).where(schema.newest_time(table) <= last))
        schema.upsert(connection, schema.cut, [{"tier": tier, "until": last, "at": now}])
    return freed, rows
