"""Reads events by page."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any, Final, NamedTuple

from sqlalchemy import Connection, Select, func, literal, select

from autoscaler.errors import StateError
from autoscaler.model import Direction, EventType
from autoscaler.record import schema
from autoscaler.record.binary import readable
from autoscaler.record.times import from_micros
from autoscaler.record.values import EventRow

_WORDS: Final = tuple(schema.event.c[name] for name in ("type", "reason", "message", "direction", "dry_run"))
"""The columns in which equal events are equal."""
_MOST_MERGED: Final = 100_000
"""Events that are compared to find equal ones: an outage of 3,000 autoscalers adds a million in two hours."""


class EventPage(NamedTuple):
    """One page of events."""

    rows: Sequence[EventRow]
    """In the order of their last occurrence."""
    total: int
    """Number of rows on all pages."""
    since: datetime | None = None
    """There are too many events to compare: the page has the newest, those since then. None: it has all."""


def event_page(
    connection: Connection, name: str | None, since: int | None, offset: int, limit: int | None, *, merged: bool
) -> EventPage:
    """Return the page of `Archive.event_page`. `since`: in microseconds.

    Raises StateError for a damaged event of `name`. On a page of all autoscalers it is left out, but counted.
    """
    at, cut = schema.event.c.at, None
    mine = [] if name is None else [schema.autoscaler.c.name == name]
    after = [] if since is None else [at >= since]
    if merged:
        times = _owned(select(at)).where(*mine, *after).order_by(at.desc())
        cut = connection.execute(times.offset(_MOST_MERGED).limit(1)).scalar()
        after = after if cut is None else [at >= cut]  # all events of a cycle have the same time
    query = (_merged() if merged else _each()).where(*mine, *after)
    found = connection.execute(query.offset(offset).limit(limit)).all()
    total = offset + len(found)
    if offset or limit is not None:
        total = connection.execute(select(func.count()).select_from(query.order_by(None).subquery())).scalar_one()
    rows = []
    for row in reversed(found):
        try:
            with readable(row.name):
                rows.append(_event(row))
        except StateError:
            if name is not None:
                raise
    return EventPage(rows, total, None if cut is None else from_micros(cut))


def _event(row: Any) -> EventRow:
    return EventRow(
        name=row.name,
        type=EventType(row.type),
        reason=row.reason,
        message=row.message,
        count=row.times,
        first=from_micros(row.first),
        last=from_micros(row.last),
        dry_run=row.dry_run,
        direction=None if row.direction is None else Direction(row.direction),
    )


def _each() -> Select[Any]:
    """Select every event, the newest first."""
    table, owner = schema.event, schema.autoscaler
    return _selected(literal(1), table.c.at, table.c.at).order_by(
        table.c.at.desc(), table.c.number.desc(), table.c.position.desc(), owner.c.name.desc()
    )


def _merged() -> Select[Any]:
    """Select equal events as one row, the newest last occurrence first."""
    table, owner = schema.event, schema.autoscaler
    return (
        _selected(func.count(), func.min(table.c.at), func.max(table.c.at))
        .group_by(owner.c.name, *_WORDS)
        .order_by(
            func.max(table.c.at).desc(),
            func.max(table.c.number).desc(),
            func.max(table.c.position).desc(),
            owner.c.name.desc(),  # a total order, so that no event is on two pages or on none
            *_WORDS,
        )
    )


def _selected(times: Any, first: Any, last: Any) -> Select[Any]:
    owner = schema.autoscaler
    return _owned(
        select(
            owner.c.name,
            *_WORDS,
            times.label("times"),
            first.label("first"),
            last.label("last"),
        )
    )


def _owned(query: Select[Any]) -> Select[Any]:
    owner = schema.autoscaler
    return query.join(owner, owner.c.id == schema.event.c.autoscaler_id)
