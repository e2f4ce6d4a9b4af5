"""Deletes the oldest data when the state is larger than `state.maxSize`."""

from collections.abc import Collection, Sequence
from math import ceil
from typing import Final, NamedTuple

from sqlalchemy import Connection, Table, delete, func, select, text

from autoscaler.record import schema

_ROWS_AT_ONCE: Final = 1_000
_EVENTS_AT_ONCE: Final = 10_000
"""More than of other tables: events are small, and each step counts all of them."""
_LAST_HOUR: Final = 3_600_000_000
"""Age that is never deleted, in microseconds."""
_EVENT_BYTES: Final = 100
"""Approximate size of an event without its text, or of a text without its words, including indexes."""
_IS_USED: Final = select(schema.event.c.text_id).where(schema.event.c.text_id == schema.event_text.c.id).exists()
"""Whether an event has a text. It looks into the index; PostgreSQL compares every event with every text for NOT IN."""

DETAIL: Final = "detail"
SERIES: Final = "series"
EVENTS: Final = "events"


class _Events(NamedTuple):
    """All events of the state."""

    rows: int
    size: int
    """Approximate bytes, with their texts."""


def live_bytes(connection: Connection) -> int:
    """Return the size of the state's data, without freed space that is used again later."""
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
            # PostgreSQL knows only a table's size on disk, with deleted rows until its vacuum
            size = table.c.get("size", func.length(table.c.body))
            total += connection.execute(select(func.coalesce(func.sum(size), 0))).scalar_one()
        else:
            total += connection.execute(select(func.pg_total_relation_size(table.name))).scalar_one()
    return int(total)


def cut(connection: Connection, max_bytes: int, now: int) -> Collection[str]:
    """Delete some of the oldest data if there is more than `max_bytes`. Returns the tiers of what was deleted.

    Events leave their texts behind (`unused_texts`).
    The order: detail down to half of `max_bytes`, events down to a tenth, series, the rest of detail, the rest of
    events. The last hour and the autoscalers' memories are kept.
    """
    excess = live_bytes(connection) - max_bytes
    if excess <= 0:
        return ()
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
    freed, deleted = 0, set[str]()
    for tier, tables, most in steps:
        wanted = min(excess - freed, most)
        if tier == EVENTS:
            gone, left = _cut_events(connection, before, wanted, now)
        else:
            gone, left = _cut_blocks(connection, tier, tables, before, wanted, now)
        freed += gone
        if gone:
            deleted.add(tier)
        if left:
            break
    return deleted


def _cut_blocks(
    connection: Connection, tier: str, tables: Sequence[Table], before: int, excess: int, now: int
) -> tuple[int, bool]:
    """Delete the tier's oldest rows before `before` until `excess` bytes are freed.

    Returns the bytes freed, and whether the rest has to wait because there were too many rows for one step.
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
    """Do the same for events. An event counts with its share of all texts."""
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
    gone = connection.execute(delete(table).where(table.c.at <= last)).rowcount
    schema.upsert(connection, schema.cut, [{"tier": EVENTS, "until": last, "at": now}])
    freed = ceil(gone * found.size / found.rows)
    return freed, freed < excess and len(times) == wanted


def unused_texts(connection: Connection) -> Sequence[int]:
    """Return the ids of some texts that no event uses.

    It reads all texts, which takes seconds at a million, so no transaction that holds locks may do it.
    """
    unused = select(schema.event_text.c.id).where(~_IS_USED).limit(_EVENTS_AT_ONCE)
    return connection.execute(unused).scalars().all()


def delete_texts(connection: Connection, ids: Sequence[int]) -> None:
    """Delete these texts, unless an event uses them by now.

    A first statement locks those that are unused, and a second one checks these again. Writers of events lock the
    texts, too (`recording.write_events`), so the second statement sees events committed meanwhile.
    """
    texts = schema.event_text
    unused = select(texts.c.id).where(texts.c.id.in_(ids), ~_IS_USED).order_by(texts.c.id)
    locked = connection.execute(unused.with_for_update(skip_locked=True)).scalars().all()
    if locked:
        connection.execute(delete(texts).where(texts.c.id.in_(locked), ~_IS_USED))


def _events(connection: Connection) -> _Events:
    words = schema.event_text.c
    count = connection.execute(select(func.count()).select_from(schema.event)).scalar_one()
    lengths = func.length(words.type) + func.length(words.reason) + func.length(words.message)
    texts = select(func.coalesce(func.sum(lengths + _EVENT_BYTES), 0))
    return _Events(count, count * _EVENT_BYTES + int(connection.execute(texts).scalar_one()))
