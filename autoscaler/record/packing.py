"""Packs a segment of the journal into blocks, one for each autoscaler."""

from collections.abc import Sequence
from contextlib import suppress
from itertools import dropwhile
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, Connection, delete, func, select

from autoscaler.errors import StateError
from autoscaler.record import schema
from autoscaler.record.binary import readable
from autoscaler.record.journal import LEFT_ALONE, SEGMENT, rows_from
from autoscaler.record.rows import Row, pack_rows, runs
from autoscaler.record.shards import keep_from_committing
from autoscaler.record.times import micros_of


class Segment(NamedTuple):
    """Pages of the journal that are packed together."""

    connection: str
    shard: int
    period: int
    chunk: int
    number: int

    @property
    def pages(self) -> ColumnElement[bool]:
        """The condition of its rows in the table `journal`."""
        c = schema.journal.c
        own = (c.connection == self.connection) & (c.shard == self.shard) & (c.period == self.period)
        first = self.number * SEGMENT
        return own & (c.chunk == self.chunk) & (c.number >= first) & (c.number < first + SEGMENT)


def full_segments(connection: Connection, now: int) -> Sequence[Segment]:
    """Return the segments that get no more pages: another segment followed, or their shard is gone."""
    c = schema.journal.c
    number = (c.number // SEGMENT).label("segment")
    query = select(c.connection, c.shard, c.period, c.chunk, number, func.max(c.at))
    newest, full = dict[tuple[Any, ...], tuple[Segment, int]](), list[Segment]()
    in_order = connection.execute(query.group_by(c.connection, c.shard, c.period, c.chunk, number).order_by(number))
    for name, shard, period, chunk, segment, at in in_order:
        place = name, shard, period, chunk
        if place in newest:
            full.append(newest[place][0])
        newest[place] = Segment(*place, segment), at
    return [*full, *[one for one, at in newest.values() if at < now - micros_of(LEFT_ALONE)]]


class Packed(NamedTuple):
    """Rows of the table `detail`."""

    newest: int
    """Number of the newest page that they hold; -1: there was none."""
    details: list[dict[str, Any]]


def pack(connection: Connection, segment: Segment) -> Packed:
    """Return a segment's pages as blocks, without what is damaged."""
    table, owner = schema.journal, schema.autoscaler
    rows, newest = dict[int, dict[int, Row]](), -1
    for page in connection.execute(select(table.c.number, table.c.body).where(segment.pages).order_by(table.c.number)):
        newest = page.number
        with suppress(StateError):
            for owner_id, row in rows_from(page.body):
                if not isinstance(row, StateError):
                    rows.setdefault(owner_id, {})[row.number] = row
    known = set(connection.execute(select(owner.c.id).where(owner.c.id.in_(list(rows)))).scalars())
    packed = Packed(newest, [])
    for owner_id, found in rows.items():
        if owner_id not in known:
            continue  # deleted meanwhile
        # rows are missing in between if the autoscaler had another sync period or shard for a while
        for run in runs(found[number] for number in sorted(found)):
            # a damaged page may have had the whole row of the first ones
            if complete := list(dropwhile(lambda row: not row.whole, run)):
                with suppress(StateError), readable(f"of id {owner_id}"):
                    packed.details.append(block(owner_id, complete))
    return packed


def replace_pages(connection: Connection, segment: Segment, packed: Packed) -> None:
    """Replace the pages by the blocks, unless another daemon has done so, or a page was written, since `pack`.

    A segment whose shard seems to be gone gets another page if the wall clock was set. No page is written meanwhile.
    """
    keep_from_committing(connection, segment.connection, segment.shard)
    newest = connection.execute(select(func.max(schema.journal.c.number)).where(segment.pages)).scalar_one()
    if newest != packed.newest:
        return
    if connection.execute(delete(schema.journal).where(segment.pages)).rowcount and packed.details:
        schema.upsert(connection, schema.detail, packed.details)


def block(owner_id: int, rows: Sequence[Row]) -> dict[str, Any]:
    """Return a row of the table `detail` with these rows."""
    times, body = [row.at for row in rows], pack_rows(rows)
    return {
        "autoscaler_id": owner_id,
        "first": rows[0].number,
        "since": min(times),
        "until": max(times),
        "size": len(body),
        "body": body,
    }
