"""The tables and their version.

Times are microseconds since 1970, UTC, by the wall clock of the host that wrote them. Columns named `body` hold values
that only this package reads (`binary`).
"""

from collections.abc import Collection, Iterator, Sequence
from typing import Any, Final

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Connection,
    Index,
    Integer,
    Label,
    LargeBinary,
    MetaData,
    Table,
    Text,
    bindparam,
    func,
    select,
    update,
)

VERSION: Final = 15
"""Version of the tables. A state of another version is refused (`versions`)."""

metadata = MetaData()
_NUMBERED: Final = BigInteger().with_variant(Integer, "sqlite")
"""Type of a primary key that the database counts. SQLite counts only integers."""


def _time_columns(*, nullable: bool = False) -> Sequence[Column[Any]]:
    """Return the columns with the time of a row by several clocks, from which readers compute its age (`ages`)."""
    return (
        Column("at", BigInteger, nullable=nullable),
        Column("boot", Text, nullable=nullable),  # boot id of the machine
        Column("elapsed", BigInteger, nullable=nullable),  # since then, by CLOCK_BOOTTIME
        Column("database", BigInteger),  # PostgreSQL's clock then
    )


schema_version = Table(
    "schema_version",
    metadata,
    Column("version", Integer, nullable=False),
)

lease = Table(
    "lease",  # PostgreSQL: one row, which daemon leads (`lease`)
    metadata,
    Column("id", Integer, primary_key=True),  # always 1
    Column("holder", Text),  # the generation of the leader; NULL: the lease is free
    Column("token", Text, nullable=False),  # random; each renewal replaces it
    Column("duration", BigInteger, nullable=False),  # microseconds after which an unchanged token ends the lease
    Column("renewed", BigInteger, nullable=False),  # this and `taken` are by the database's clock, for display only
    Column("taken", BigInteger, nullable=False),
    Column("place", Text),  # host and pid of the leader, for messages
    Column("host", Text),
    Column("version", Text),  # of its package
    Column("loaded", BigInteger),  # when its configuration was loaded
    Column("digest", Text),  # of that configuration
)

fence = Table(
    "fence",  # one row: which generation and which epochs may write what autoscalers remember (`fence`)
    metadata,
    Column("id", Integer, primary_key=True),  # always 1
    Column("generation", Text, nullable=False),
    Column("epochs", Text, nullable=False),  # JSON: connection -> its number of shards, and number -> epoch
)

writer = Table(
    "writer",  # the last commit of each writer, and what it has written (`writers`)
    metadata,
    Column("id", _NUMBERED, primary_key=True, autoincrement=False),
    Column("commits", BigInteger, nullable=False),
    *_time_columns(),  # of its last commit
    Column("detail", BigInteger, nullable=False),  # bytes, as `sizes` counts them
    Column("history", BigInteger, nullable=False),
)

OPERATORS: Final = 1
"""The writer of pauses and overrides. Its commits are their changes, so that readers can cache them."""
HOUSEKEEPING: Final = 2
"""The writer that packs and deletes."""
FIRST_WRITER: Final = 16
"""Smallest id of a writer of memories; random, so that none is used twice, whatever backup is restored."""

autoscaler = Table(
    "autoscaler",  # everything that an autoscaler's next decision needs
    metadata,
    Column("id", Integer, primary_key=True),
    Column("scaled", Text, nullable=False, unique=True),  # what it scales (`target.scaled`)
    Column("name", Text, nullable=False),  # this and the following are those of its newest cycle
    Column("target", Text, nullable=False),
    Column("connection", Text, nullable=False),
    Column("first_at", BigInteger, nullable=False),  # of the first decision or intent
    # The memory. While the row has a writer, it stands for that one's last commit (`known`)
    Column("seq", BigInteger, nullable=False, server_default="0"),  # counts the writes; 0: there is no memory
    Column("number", BigInteger, nullable=False, server_default="0"),  # of its newest cycle, in the order of commits
    Column("writer", BigInteger),
    Column("since", BigInteger, nullable=False, server_default="0"),  # the writer's number of commits then
    *_time_columns(nullable=True),
    Column("decided", BigInteger),  # when the newest cycle was; NULL: at that time
    Column("body", LargeBinary),  # entries.Kept
    Column("counted", BigInteger),  # the size that counts towards the connection's maxTotal; NULL: not known yet
    Index("autoscaler_name", "name"),
    Index("autoscaler_connection", "connection"),
    Index("autoscaler_writer", "writer"),
    sqlite_autoincrement=True,  # never reuses an id, because blocks may hold rows of a deleted autoscaler
)

_AHEAD: Final = func.coalesce(writer.c.commits, 0) - autoscaler.c.since


def _by_writer(name: str) -> Label[Any]:
    return func.coalesce(writer.c[name], autoscaler.c[name]).label(name)


known = (
    select(
        *[
            autoscaler.c[name]
            for name in ("id", "scaled", "name", "target", "connection", "first_at", "body", "counted")
        ],
        autoscaler.c.seq.label("stored"),
        (autoscaler.c.seq + _AHEAD).label("seq"),
        (autoscaler.c.number + _AHEAD).label("number"),
        autoscaler.c.writer,
        func.coalesce(writer.c.commits, 0).label("commits"),
        *[_by_writer(name) for name in ("at", "boot", "elapsed", "database")],
        func.coalesce(writer.c.at, autoscaler.c.decided, autoscaler.c.at).label("decided"),
    )
    .outerjoin(writer, writer.c.id == autoscaler.c.writer)
    .subquery("known")
)
"""The rows of `autoscaler` as they stand: with the number and the time of their writer's last commit."""

removal = Table(
    "removal",  # scale-ins that count towards a connection's removal budget
    metadata,
    Column("autoscaler_id", Integer, primary_key=True, autoincrement=False),
    Column("seq", BigInteger, primary_key=True, autoincrement=False),  # of the memory written with it
    *_time_columns(),
    Column("instances", BigInteger, nullable=False),  # units of size; 0: given back
    Index("removal_at", "at"),
    sqlite_with_rowid=False,
)

kept = Table(
    "kept",  # what is known by a name alone
    metadata,
    Column("kind", Text, primary_key=True),  # one of those below
    Column("key", Text, primary_key=True),
    Column("body", LargeBinary, nullable=False),
    sqlite_with_rowid=False,
)
STEERING: Final = "steering"
"""By autoscaler's name: pauses and overrides of operators, until they expire or are removed. model.ManualControls."""
SIGHTING: Final = "sighting"
"""By what is scaled: when instances were first seen, and seen ready, for back ends that do not report it."""
ADAPTER: Final = "adapter"
"""By what is scaled: values that an adapter saved of a target. A JSON object."""
CUT: Final = "cut"
"""By tier: what was deleted because of state.maxSize."""

spec = Table(
    "spec",  # the specifications of an autoscaler, a row for each change
    metadata,
    Column("autoscaler_id", Integer, primary_key=True, autoincrement=False),
    Column("number", BigInteger, primary_key=True, autoincrement=False),  # of the first cycle with it
    Column("replaced", BigInteger),  # when another one replaced it; NULL: it is in force
    Column("body", LargeBinary, nullable=False),  # model.Autoscaler
    Column("version", Text),  # of the package that decided by it; NULL: not known, in a state of version 13
    Index("spec_replaced", "replaced"),
)

block = Table(
    "block",  # recorded cycles of up to CHUNK autoscalers, for state.detail
    metadata,
    Column("id", _NUMBERED, primary_key=True),  # in the order of commits, for each autoscaler
    Column("chunk", Integer, nullable=False),  # of autoscalers: id // CHUNK
    Column("since", BigInteger, nullable=False),  # the earliest and the latest time in it
    Column("until", BigInteger, nullable=False),
    Column("packed", Boolean, nullable=False),  # False: a page, which one commit wrote
    Column("size", Integer, nullable=False),  # bytes of the body
    Column("body", LargeBinary, nullable=False),  # rows.pack_rows
    Index("block_chunk", "packed", "chunk", "until"),
    Index("block_until", "until"),
)
CHUNK: Final = 64

change = Table(
    "change",  # decisions with a change, for state.retention
    metadata,
    Column("autoscaler_id", Integer, primary_key=True, autoincrement=False),
    Column("number", BigInteger, primary_key=True, autoincrement=False),
    Column("at", BigInteger, nullable=False),
    Column("spec", BigInteger, nullable=False),
    Column("size", Integer, nullable=False),  # bytes of the body
    Column("body", LargeBinary, nullable=False),  # the columns DECISION, packed
    Index("change_at", "at"),
)

event = Table(
    "event",
    metadata,
    Column("autoscaler_id", Integer, primary_key=True, autoincrement=False),
    Column("number", BigInteger, primary_key=True, autoincrement=False),  # of the cycle
    Column("position", Integer, primary_key=True, autoincrement=False),  # among those of the cycle
    Column("at", BigInteger, nullable=False),
    Column("dry_run", Boolean, nullable=False),
    Column("type", Text, nullable=False),
    Column("reason", Text, nullable=False),
    Column("message", Text, nullable=False),
    Column("direction", Text),
    Index("event_at", "at"),
    sqlite_with_rowid=False,
)

notice = Table(
    "notice",  # what the webhook is to be told (`outbox`)
    metadata,
    Column("id", Text, primary_key=True),
    *_time_columns(),
    Column("body", LargeBinary, nullable=False),  # model.Notice
)

_FEW: Final = 500


def newest_time(table: Table) -> Column[int]:
    """Return the column that decides whether a row of the table is too old."""
    return next(table.c[name] for name in ("until", "replaced", "at") if name in table.c)


def few(values: Collection[str]) -> Sequence[str] | None:
    """Return the values sorted, for a statement's parameters; None if there are so many that reading all is faster."""
    return sorted(values) if len(values) <= _FEW else None


def batches(values: Collection[str]) -> Iterator[Sequence[str]]:
    """Yield the values in order, as many at a time as fit a statement's parameters."""
    in_order = sorted(values)
    for start in range(0, len(in_order), _FEW):
        yield in_order[start : start + _FEW]


def update_known(connection: Connection, table: Table, known: Sequence[str], rows: Sequence[dict[str, Any]]) -> int:
    """Set the other columns of each row, if the columns `known` have the row's values. Returns how many rows had.

    All rows have the same columns. A value named `before_NAME` is that of the column NAME before.
    """
    if not rows:
        return 0
    same = [table.c[name.removeprefix("before_")] == bindparam(f"known_{name}") for name in known]
    values = [{f"known_{name}" if name in known else name: value for name, value in row.items()} for row in rows]
    return connection.execute(update(table).where(*same), values).rowcount
