"""Packs the pages of many commits into blocks."""

from collections.abc import Sequence
from contextlib import suppress
from datetime import timedelta
from typing import Any, Final, NamedTuple

from msgspec.structs import replace
from sqlalchemy import Connection, false, func, select

from autoscaler.errors import StateError
from autoscaler.record import schema
from autoscaler.record.pages import MAX_BYTES, block_of
from autoscaler.record.rows import Row, pack_rows, rows_by_id
from autoscaler.record.sizes import count_bytes, delete_rows, insert_rows
from autoscaler.record.times import micros_of

PAGES_PER_BLOCK: Final = 120
"""Largest number of a chunk's pages that wait to be packed: half an hour at the default period of 15 s. The rows take
ten times as many bytes in pages as in a block."""
LEFT_ALONE: Final = timedelta(hours=24)
"""Age of a chunk's oldest page after which its pages are packed, however few they are."""

_TABLE: Final = schema.block


def full_chunks(connection: Connection, now: int) -> Sequence[int]:
    """Return the chunks whose pages are to be packed at `now` (microseconds).

    The number of pages is from half of PAGES_PER_BLOCK up, so that not all chunks are packed at once.
    """
    c, most = _TABLE.c, PAGES_PER_BLOCK
    query = select(c.chunk, func.count().label("pages"), func.min(c.until).label("oldest")).where(c.packed == false())
    return [
        row.chunk
        for row in connection.execute(query.group_by(c.chunk))
        if row.pages >= most - 37 * row.chunk % (most // 2) or row.oldest < now - micros_of(LEFT_ALONE)
    ]


class Packed(NamedTuple):
    """A chunk's oldest pages, and the blocks that replace them."""

    pages: Sequence[int]
    """By id."""
    blocks: Sequence[dict[str, Any]]
    """Rows of the table `block`. Each has the id of its first page, so that the order of ids is that of commits."""


def pack(connection: Connection, chunk: int) -> Packed:
    """Return the chunk's oldest pages as blocks, without what is damaged, and without deleted autoscalers."""
    c, known = _TABLE.c, _known(connection, chunk)
    pages, packing, blocks = list[int](), _Rows(), list[dict[str, Any]]()
    query = select(c.id, c.body).where(c.packed == false(), c.chunk == chunk).order_by(c.id).limit(PAGES_PER_BLOCK)
    for page in connection.execute(query):
        if packing.bytes > MAX_BYTES:
            blocks.append(packing.block(chunk))
            packing = _Rows()
        pages.append(page.id)
        with suppress(StateError):
            for owner_id, rows in rows_by_id(page.body):
                if owner_id in known and not isinstance(rows, StateError):
                    packing.add(page.id, owner_id, rows)
    return Packed(pages, [*blocks, packing.block(chunk)] if packing.rows else blocks)


def replace_pages(connection: Connection, packed: Packed) -> None:
    """Replace the pages by the blocks, unless another daemon has done so since `pack`."""
    pages = _TABLE.c.id.in_(packed.pages) & ~_TABLE.c.packed
    if connection.execute(select(func.count()).where(pages)).scalar_one() == len(packed.pages):
        delete_rows(connection, _TABLE, pages)
        count_bytes(connection, schema.HOUSEKEEPING, insert_rows(connection, {_TABLE: packed.blocks}))


class _Rows:
    """Rows that become a block. Equal values of different rows are one object."""

    def __init__(self) -> None:
        self.rows: Final = dict[int, list[Row]]()
        self.bytes = 0
        self._id = 0
        self._distinct: Final = dict[bytes, bytes]()

    def add(self, page: int, owner_id: int, rows: Sequence[Row]) -> None:
        self._id = self._id or page
        for row in rows:
            self.bytes += sum([len(value) for value in row.columns if value not in self._distinct])
            columns = tuple([self._distinct.setdefault(value, value) for value in row.columns])
            self.rows.setdefault(owner_id, []).append(replace(row, columns=columns))

    def block(self, chunk: int) -> dict[str, Any]:
        times = [row.at for rows in self.rows.values() for row in rows]
        return {"id": self._id, **block_of(chunk, times, pack_rows(self.rows), packed=True)}


def _known(connection: Connection, chunk: int) -> frozenset[int]:
    """Return the ids of the chunk's autoscalers."""
    c, first = schema.autoscaler.c, chunk * schema.CHUNK
    return frozenset(connection.execute(select(c.id).where(c.id >= first, c.id < first + schema.CHUNK)).scalars())
