"""`state.maxSize`: what of the state goes, in which order, when there is too much of it."""

from collections.abc import Sequence
from math import ceil
from typing import Final, NamedTuple

from sqlalchemy import Connection, Table, delete, func, select, text

from autoscaler.record import schema

_ROWS_AT_ONCE: Final = 1_000
_EVENTS_AT_ONCE: Final = 10_000
"""They are small, and each time all of them are read for the texts that nobody has any more."""
_LAST_HOUR: Final = 3_600_000_000
"""What is never cut, in microseconds."""
_EVENT_BYTES: Final = 100
"""About what an event takes without its text, or a text without its words, indexes included."""
TEXTS_USED: Final = select(schema.event.c.text_id)

DETAIL: Final = "detail"
SERIES: Final = "series"
EVENTS: Final = "events"


class _Events(NamedTuple):
    """All that there are."""

    rows: int
    size: int
    """About how many bytes they take, with their texts."""


def live_bytes(connection: Connection) -> int:
    """What the state's data takes: space that was freed and will be used again does not count."""
    if connection.dialect.name == "sqlite":
        pages, free, size = (
            connection.execute(text(f"PRAGMA {name}")).scalar_one()
            for name in ("page_count", "freelist_count", "page_size")
        )
        return int((pages - free) * size)
    total = _events(connection).size
    for table in schema.metadata.sorted_tables:
        if table in (schema.event, schema.event_text):
            continue
        if "body" in table.c:
            # PostgreSQL does not say how much of a table is live, and what is deleted or replaced stays for its vacuum
            size = table.c.get("size", func.length(table.c.body))
            total += connection.execute(select(func.coalesce(func.sum(size), 0))).scalar_one()
        else:
            total += connection.execute(select(func.pg_total_relation_size(table.name))).scalar_one()
    return int(total)


def cut(connection: Connection, max_bytes: int, now: int) -> bool:
    """Delete some of the oldest data while there is more than `max_bytes`. Returns whether there is more to cut.

    The oldest detail goes first, to half of `max_bytes`, then events, to a tenth, series, and the rest of both; never
    the last hour of anything, nor what decisions remember.
    """
    excess = live_bytes(connection) - max_bytes
    if excess <= 0:
        return False
    before = now - _LAST_HOUR
    detail = connection.execute(select(func.coalesce(func.sum(schema.detail.c.size), 0))).scalar_one()
    events = _events(connection).size
    steps = (
        (DETAIL, (schema.detail,), detail - max_bytes // 2),
        (EVENTS, (), events - max_bytes // 10),
        (SERIES, (schema.series, schema.change), excess),
        (DETAIL, (schema.detail,), excess),
        (EVENTS, (), excess),
    )
    freed = 0
    for tier, tables, most in steps:
        wanted = min(excess - freed, most)
        if tier == EVENTS:
            gone, left = _cut_events(connection, before, wanted, now)
        else:
            gone, left = _cut_blocks(connection, tier, tables, before, wanted, now)
        freed += gone
        if left:
            break
    return freed > 0 and live_bytes(connection) > max_bytes


def _cut_blocks(
    connection: Connection, tier: str, tables: Sequence[Table], before: int, excess: int, now: int
) -> tuple[int, bool]:
    """Delete the tier's oldest rows, all of before `before`, until `excess` bytes are gone.

    Returns how many are, and whether it left some of that for another time: there were too many rows for one.
    """
    if excess <= 0:
        return 0, False
    freed = 0
    left = False
    cut_until: int | None = None
    for table in tables:
        at = schema.newest_time(table)
        rows = connection.execute(select(at, table.c.size).where(at < before).order_by(at).limit(_ROWS_AT_ONCE)).all()
        gone = 0
        last: int | None = None
        for when, size in rows:
            if gone >= excess - freed:
                break
            gone, last = gone + size, when
        if last is None:
            continue
        cut_until = last if cut_until is None else max(last, cut_until)
        connection.execute(delete(table).where(at <= last))
        freed += gone
        left |= freed < excess and len(rows) == _ROWS_AT_ONCE
    if cut_until is not None:
        schema.upsert(connection, schema.cut, [{"tier": tier, "until": cut_until, "at": now}])
    return freed, left


def _cut_events(connection: Connection, before: int, excess: int, now: int) -> tuple[int, bool]:
    """The same of events, and of the texts that no other event has."""
    found = _events(connection)
    if excess <= 0 or not found.rows:
        return 0, False
    table = schema.event
    wanted = min(ceil(excess * found.rows / found.size), _EVENTS_AT_ONCE)
    times = (
        connection.execute(select(table.c.at).where(table.c.at < before).order_by(table.c.at).limit(wanted))
        .scalars()
        .all()
    )
    if not times:
        return 0, False
    last = times[-1]
    connection.execute(delete(table).where(table.c.at <= last))
    delete_unused_texts(connection)
    schema.upsert(connection, schema.cut, [{"tier": EVENTS, "until": last, "at": now}])
    freed = found.size - _events(connection).size
    return freed, freed < excess and len(times) == wanted  # less than expected: their texts are still used


def delete_unused_texts(connection: Connection) -> None:
    """Delete the texts that no event has.

    They are locked first, and looked at again by another statement: whoever writes an event locks its text as well
    (`recording.write_events`), so that an event that was committed in between is seen.
    """
    texts = schema.event_text
    unused = select(texts.c.id).where(texts.c.id.not_in(TEXTS_USED)).order_by(texts.c.id).limit(_EVENTS_AT_ONCE)
    ids = connection.execute(unused.with_for_update(skip_locked=True)).scalars().all()
    if ids:
        connection.execute(delete(texts).where(texts.c.id.in_(ids), texts.c.id.not_in(TEXTS_USED)))


def _events(connection: Connection) -> _Events:
    words = schema.event_text.c
    count = connection.execute(select(func.count()).select_from(schema.event)).scalar_one()
    lengths = func.length(words.type) + func.length(words.reason) + func.length(words.message)
    texts = select(func.coalesce(func.sum(lengths + _EVENT_BYTES), 0))
    return _Events(count, count * _EVENT_BYTES + int(connection.execute(texts).scalar_one()))
