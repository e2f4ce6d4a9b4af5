"""The newest cycles of all autoscalers: one small row of the database a commit for each chunk of 64 autoscalers.

A database row for each autoscaler and cycle would touch a page of the disk for each; a journal's page holds a whole
commit's. Once an hour's pages are together they are turned into blocks, one for each autoscaler (`packing`).
"""

from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from typing import Final, NamedTuple

import msgspec
from sqlalchemy import Connection, func, select, text

from autoscaler.errors import StateError
from autoscaler.record import schema
from autoscaler.record.binary import Binary
from autoscaler.record.fair_lock import FairLock
from autoscaler.record.rows import Row

PAGES_A_BLOCK: Final = 240
"""At most. An hour at the usual period of 15 s."""
_HOUR: Final = 3_600_000_000
"""In microseconds."""
_FEWEST_PAGES: Final = 20
"""Of a block, however long the period: fewer would leave little to pack."""
MOST_BYTES: Final = 2**24
"""Of one chunk's pages, before they are packed earlier than usual (16 MiB)."""
_TURN_SECONDS: Final = 10.0
"""How long a shard waits for its turn to write pages before its cycle gives up."""

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


class Pages(NamedTuple):
    """What there is of one chunk's pages."""

    first: int
    """Number of the oldest: what stood in an earlier one stands in another page now, or in a block."""
    last: int
    """Number of the newest; 0: there was none yet."""
    unpacked: int
    bytes: int

    def is_full(self, period: int, chunk: int) -> bool:
        """Whether they are to be packed before the next one is written; chunks take their turns.

        `period`: of their autoscalers, in microseconds. Pages are many times as large as what is packed, and nothing
        cuts them: they are to hold an hour, not hours.
        """
        most = min(PAGES_A_BLOCK, max(_FEWEST_PAGES, _HOUR // period))
        return self.unpacked > 0 and ((self.last + 37 * chunk) % most == 0 or self.bytes > MOST_BYTES)


def read_pages(connection: Connection, name: str) -> dict[tuple[int, int], Pages]:
    """What there is of the journal of an adapter connection, by period and chunk."""
    table = schema.journal
    query = (
        select(
            table.c.period,
            table.c.chunk,
            func.min(table.c.number).label("first"),
            func.max(table.c.number).label("last"),
            func.count().label("pages"),
            func.sum(func.length(table.c.body)).label("bytes"),
        )
        .where(table.c.connection == name)
        .group_by(table.c.period, table.c.chunk)
    )
    found = connection.execute(query)
    return {(row.period, row.chunk): Pages(row.first, row.last, row.pages, row.bytes) for row in found}


class Journal:
    """One connection's pages. Its shards write them in turn, for a chunk may have autoscalers of several."""

    def __init__(self, connection: str) -> None:
        self._connection = connection
        self._turn = FairLock()
        self._pages: dict[tuple[int, int], Pages] | None = None
        """What is committed; None: not read yet, or in doubt since a transaction failed."""
        self._commits = 0
        """PostgreSQL: how many commits wrote pages, that of `_pages` among them."""

    @contextmanager
    def turn(self) -> Iterator[None]:
        """For a commit that writes pages, up to `follow`. Raises StateError where it does not come soon."""
        if not self._turn.acquire(_TURN_SECONDS):
            raise StateError(
                f"another shard of adapter {self._connection!r} has been recording for {_TURN_SECONDS:.0f} s; check "
                "the state's database"
            )
        try:
            yield
        except BaseException:
            self._pages = None
            raise
        finally:
            self._turn.release()

    def pages(self, connection: Connection) -> dict[tuple[int, int], Pages]:
        """By period and chunk; a copy, for what is written counts only once it is committed.

        On PostgreSQL other daemons write pages, too: from here to the end of the transaction this one alone does.
        """
        if connection.dialect.name == "postgresql":
            before, self._commits = self._commits, _count_commit(connection, self._connection)
            if self._commits != before + 1:
                self._pages = None
        return read_pages(connection, self._connection) if self._pages is None else dict(self._pages)

    def follow(self, pages: dict[tuple[int, int], Pages]) -> None:
        """These are committed."""
        self._pages = pages


def _count_commit(connection: Connection, name: str) -> int:
    """How many commits wrote pages of this connection, this one among them. It locks the count: others wait."""
    statement = text(
        "INSERT INTO counter (name, value) VALUES (:name, 1) "
        "ON CONFLICT (name) DO UPDATE SET value = counter.value + 1 RETURNING value"
    )
    count: int = connection.execute(statement, {"name": f"journal {name}"}).scalar_one()
    return count
