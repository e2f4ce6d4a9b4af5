"""The newest cycles of all autoscalers: a commit adds one row, a page, for each chunk of 64 autoscalers.

A row for each autoscaler and cycle would touch a page of the disk for each. The pages of an hour are a segment, which
is later packed into blocks, one for each autoscaler (`packing`).
"""

from collections.abc import Collection, Iterator, Mapping
from datetime import timedelta
from typing import Final, NamedTuple, TypeAlias

import msgspec
from sqlalchemy import Connection, func, select

from autoscaler.errors import StateError
from autoscaler.model import ShardName
from autoscaler.record import schema
from autoscaler.record.binary import Binary
from autoscaler.record.rows import Row

PAGES_PER_BLOCK: Final = 240
"""Largest number of pages in a segment: an hour at the default period of 15 s."""
_HOUR: Final = 3_600_000_000
"""In microseconds."""
_MIN_PAGES: Final = 20
"""Smallest number of pages in a segment, for long periods. Fewer pages compress badly."""
MAX_BYTES: Final = 2**24
"""Bytes of a segment after which the next one begins early (16 MiB)."""
_STALE: Final = timedelta(hours=12)
"""Age of its newest page after which a segment gets no more pages."""
LEFT_ALONE: Final = timedelta(hours=24)
"""Age of its newest page after which a segment is packed even if no other segment followed: its shard is gone."""
SEGMENT: Final = 256
"""Page numbers reserved for a segment: PAGES_PER_BLOCK, rounded up."""

_PAGE: Final = Binary[Mapping[int, Row]](dict[int, Row])
_RAW_PAGE: Final = Binary[dict[int, msgspec.Raw]](dict[int, msgspec.Raw])
_ROW: Final = Binary[Row](Row)


def chunk_of(owner_id: int) -> int:
    """Return the chunk of an autoscaler's id."""
    return owner_id // schema.CHUNK


def page_of(rows: Mapping[int, Row]) -> bytes:
    """Return a page with a row for each of these autoscalers, by id."""
    return _PAGE.dump(rows)


def rows_from(page: bytes, ids: Collection[int] | None = None) -> Iterator[tuple[int, Row | StateError]]:
    """Yield id and row of a page's autoscalers, or only of `ids`. A damaged row is its StateError.

    Raises StateError if the page itself is damaged.
    """
    for owner_id, raw in _RAW_PAGE.load(page).items():
        if ids is None or owner_id in ids:
            yield owner_id, _row_from(bytes(raw))


def _row_from(data: bytes) -> Row | StateError:
    try:
        return _ROW.load(data)
    except StateError as error:
        return error


def read_rows(connection: Connection, name: str, owner_id: int) -> list[Row]:
    """Return an autoscaler's rows that are in no block yet, in order. Raises StateError.

    `name`: its adapter connection.
    """
    table = schema.journal
    query = (
        select(table.c.body)
        .where(table.c.connection == name, table.c.chunk == chunk_of(owner_id))
        .order_by(table.c.number)
    )
    found = dict[int, Row]()
    for page in connection.execute(query):
        for _, row in rows_from(page.body, (owner_id,)):
            if isinstance(row, StateError):
                raise row
            found[row.number] = row
    return [found[number] for number in sorted(found)]


class Page(NamedTuple):
    """The newest page of a chunk."""

    number: int
    """Pages of one segment are packed together, and its rows refer only to whole rows in it."""
    written: bool
    """Whether this ledger wrote it. Otherwise the next page begins a segment."""
    bytes: int = 0
    """Size of its segment so far."""
    at: timedelta = timedelta(0)
    """When it was written, since the start of the machine."""

    def following(self, period: int, chunk: int, at: timedelta) -> int:
        """Return the number of the next page, written `at` this time since the start of the machine.

        `period`: sync period in microseconds. Pages are many times larger than packed blocks and are not subject to
        `maxSize`, so a segment holds about an hour. The first segments of chunks have different lengths, so that not
        all chunks are packed at once.
        """
        most = min(PAGES_PER_BLOCK, max(_MIN_PAGES, _HOUR // period))
        segment, place = divmod(self.number, SEGMENT)
        if not self.written:
            return (segment + 1) * SEGMENT + 37 * chunk % most
        if place + 1 >= most or self.bytes > MAX_BYTES or not timedelta(0) <= at - self.at < _STALE:
            return (segment + 1) * SEGMENT
        return self.number + 1


Pages: TypeAlias = dict[tuple[int, int], Page]
"""The newest page by sync period (microseconds) and chunk."""
_NONE: Final = Page(0, written=False)


class Journal:
    """The newest pages of one ledger, which no other ledger writes."""

    def __init__(self, name: ShardName) -> None:
        """`name`: the ledger's shard."""
        self.name: Final = name
        self._pages: Pages | None = None
        """The committed pages; None: not read yet, or a transaction failed since."""

    def pages(self, connection: Connection) -> Pages:
        """Return a copy, to be changed in the transaction and given to `committed` after it."""
        known, self._pages = self._pages, None
        return self._read(connection) if known is None else dict(known)

    def committed(self, pages: Pages) -> None:
        """Note that these are committed."""
        self._pages = pages

    def _read(self, connection: Connection) -> Pages:
        table = schema.journal
        query = (
            select(table.c.period, table.c.chunk, func.max(table.c.number).label("last"))
            .where(table.c.connection == self.name.adapter, table.c.shard == self.name.number)
            .group_by(table.c.period, table.c.chunk)
        )
        return {(row.period, row.chunk): Page(row.last, written=False) for row in connection.execute(query)}


def newest_page(pages: Pages, period: int, chunk: int) -> Page:
    """Return the newest page of this chunk; without one, the page before its first."""
    return pages.get((period, chunk), _NONE)
