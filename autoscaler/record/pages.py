"""The pages of a commit: a block with the rows of one cycle for each chunk of 64 autoscalers.

A row for each autoscaler and cycle would touch a page of the disk for each, and could not be compressed.
"""

from collections.abc import Collection, Iterator, Mapping
from typing import Any, Final

from sqlalchemy import Select

from autoscaler.record import schema
from autoscaler.record.rows import Row, pack_page

MAX_BYTES: Final = 2**24
"""Bytes of a block's values after which the next one begins (16 MiB). A block must fit in memory to be read."""


def chunk_of(owner_id: int) -> int:
    """Return the chunk of an autoscaler's id."""
    return owner_id // schema.CHUNK


def blocks_of(query: Select[Any], chunk: int, since: int, until: int) -> Select[Any]:
    """Return the query of the chunk's blocks, pages included, with times from `since` to `until` (microseconds)."""
    c = schema.block.c
    return query.where(c.packed.in_([False, True]), c.chunk == chunk, c.until >= since, c.since <= until)


def pages_of(rows: Mapping[int, Row]) -> Iterator[dict[str, Any]]:
    """Yield the rows of the table `block` with the rows of one cycle. `rows`: by autoscaler's id."""
    page, chunk, size = dict[int, Row](), 0, 0
    for owner_id in sorted(rows):
        row = rows[owner_id]
        if page and (chunk_of(owner_id) != chunk or size > MAX_BYTES):
            yield _page(chunk, page)
            page, size = {}, 0
        chunk = chunk_of(owner_id)
        page[owner_id] = row
        size += sum(map(len, row.columns))
    if page:
        yield _page(chunk, page)


def block_of(chunk: int, times: Collection[int], body: bytes, *, packed: bool) -> dict[str, Any]:
    """Return a row of the table `block` without its id. `times`: of its rows; `packed`: of more than one commit."""
    return {
        "chunk": chunk,
        "since": min(times),
        "until": max(times),
        "packed": packed,
        "size": len(body),
        "body": body,
    }


def _page(chunk: int, rows: Mapping[int, Row]) -> dict[str, Any]:
    return block_of(chunk, [row.at for row in rows.values()], pack_page(rows), packed=False)
