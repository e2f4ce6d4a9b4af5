"""The newest cycles of all autoscalers: one small row of the database a commit for each chunk of 64 autoscalers.

A database row for each autoscaler and cycle would touch a page of the disk for each; a journal's page holds a whole
commit's. Once an hour's pages are together, a segment, they are turned into blocks, one for each autoscaler
(`packing`).
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

PAGES_A_BLOCK: Final = 240
"""At most. An hour at the usual period of 15 s."""
_HOUR: Final = 3_600_000_000
"""In microseconds."""
_FEWEST_PAGES: Final = 20
"""Of a block, however long the period: fewer would leave little to pack."""
MOST_BYTES: Final = 2**24
"""Of one chunk's pages, before they are packed earlier than usual (16 MiB)."""
_STALE: Final = timedelta(hours=12)
"""After so long a segment is not gone on with."""
LEFT_ALONE: Final = timedelta(hours=24)
"""After so long a segment is packed that another has not followed: its shard is gone, and would not go on with it."""
SEGMENT: Final = 256
"""Numbers of pages that are a segment's: the most that it may have, rounded up."""

_PAGE: Final = Binary[Mapping[int, Row]](dict[int, Row])
_RAW_PAGE: Final = Binary[dict[int, msgspec.Raw]](dict[int, msgspec.Raw])
_ROW: Final = Binary[Row](Row)


def chunk_of(owner_id: int) -> int:
    """The chunk of an autoscaler's id."""
    return owner_id // schema.CHUNK


def page_of(rows: Mapping[int, Row]) -> bytes:
    """A page with a row for each of these autoscalers, by id."""
    return _PAGE.dump(rows)


def rows_from(page: bytes, ids: Collection[int] | None = None) -> Iterator[tuple[int, Row | StateError]]:
    """Id and row of the autoscalers of a page, or of these among them; for a damaged row, what is wrong with it.

    Raises StateError when the page itself is damaged.
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
    """An autoscaler's rows that are in no block yet, in order. `name`: of its adapter connection. Raises StateError."""
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
    """The newest page that a ledger has written of a chunk, or found there."""

    number: int
    """Pages of one segment are packed together, and each row of them is completed by a whole one of its segment."""
    written: bool
    """By this ledger: else the next one begins a segment."""
    bytes: int = 0
    """Of its segment."""
    at: timedelta = timedelta(0)
    """When it was written, since the start of the machine."""

    def following(self, period: int, chunk: int, at: timedelta) -> int:
        """The number of the next page, written at this time since the start of the machine.

        `period`: of their autoscalers, in microseconds. Pages are many times as large as what is packed, and nothing
        cuts them: they are to hold an hour, not hours. Chunks take their turns.
        """
        most = min(PAGES_A_BLOCK, max(_FEWEST_PAGES, _HOUR // period))
        segment, place = divmod(self.number, SEGMENT)
        if not self.written:
            return (segment + 1) * SEGMENT + 37 * chunk % most
        if place + 1 >= most or self.bytes > MOST_BYTES or not timedelta(0) <= at - self.at < _STALE:
            return (segment + 1) * SEGMENT
        return self.number + 1


Pages: TypeAlias = dict[tuple[int, int], Page]
"""By period, in microseconds, and chunk."""
_NONE: Final = Page(0, written=False)


class Journal:
    """The pages of one ledger, which nobody else writes."""

    def __init__(self, name: ShardName) -> None:
        """Of the shard `name`."""
        self.name: Final = name
        self._pages: Pages | None = None
        """What is committed; None: not read yet, or in doubt since a transaction failed."""

    def pages(self, connection: Connection) -> Pages:
        """A copy, for what is written counts only once it is committed."""
        known, self._pages = self._pages, None
        return self._read(connection) if known is None else dict(known)

    def follow(self, pages: Pages) -> None:
        """These are committed."""
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
    """Of this chunk; where there is none, what comes before the first."""
    return pages.get((period, chunk), _NONE)
