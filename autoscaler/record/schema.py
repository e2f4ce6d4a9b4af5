"""The tables, and their version.

Times are microseconds since 1970, UTC, by the wall clock of whoever wrote them. Columns named `body` hold values that
only this package reads (`binary`).
"""

from collections.abc import Collection, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, Final

from sqlalchemy import (
    URL,
    BigInteger,
    Boolean,
    Column,
    Connection,
    Index,
    Insert,
    Integer,
    LargeBinary,
    MetaData,
    SmallInteger,
    Table,
    Text,
    UniqueConstraint,
    Update,
    and_,
    bindparam,
    func,
    select,
    text,
    update,
)
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.functions import FunctionElement

if TYPE_CHECKING:
    from sqlalchemy.dialects import postgresql, sqlite

VERSION: Final = 7
"""A state of another version is refused (`versions`)."""

metadata = MetaData()


class database_time(FunctionElement[int]):  # noqa: N801 - it is written as SQL's own functions are
    """The time on PostgreSQL's own clock, in microseconds, also within a transaction; NULL on SQLite."""

    type = BigInteger()
    inherit_cache = True


@compiles(database_time)
def _null(_element: database_time, _compiler: SQLCompiler, **_: Any) -> str:
    return "NULL"


@compiles(database_time, "postgresql")
def _clock_timestamp(_element: database_time, _compiler: SQLCompiler, **_: Any) -> str:
    return "(extract(epoch FROM clock_timestamp()) * 1000000)::bigint"


def _taken() -> Sequence[Column[Any]]:
    """When, by which clocks, the times in a row were written: that says how old they are when it is read (`ages`)."""
    return (
        Column("at", BigInteger, nullable=False),
        Column("boot", Text, nullable=False),  # which start of the machine
        Column("elapsed", BigInteger, nullable=False),  # since then, by CLOCK_BOOTTIME
        Column("database", BigInteger, default=database_time(), onupdate=database_time()),  # PostgreSQL's clock then
    )


schema_version = Table(
    "schema_version",
    metadata,
    Column("version", Integer, nullable=False),
)

shard = Table(
    "shard",  # which epoch may write what the autoscalers of a shard remember
    metadata,
    Column("connection", Text, primary_key=True),
    Column("shards", SmallInteger, primary_key=True, autoincrement=False),  # how many the connection has
    Column("shard", SmallInteger, primary_key=True, autoincrement=False),  # and which of them it is, from 1
    Column("epoch", BigInteger, nullable=False),
    Column("commits", BigInteger, nullable=False),  # SQLite: counted up by each commit, which fences off older epochs
    Column("holder", Text),  # PostgreSQL: the member that may write it; NULL, or one that is gone: nobody
    sqlite_with_rowid=False,
)

serves = Table(
    "serves",  # which shard scales what: an autoscaler's name and its target are claimed together (`claims`)
    metadata,
    Column("kind", Text, primary_key=True),  # name or target
    Column("key", Text, primary_key=True),  # a target's: with the defaults of its connection written out
    Column("connection", Text, nullable=False),
    Column("shards", SmallInteger, nullable=False),
    Column("shard", SmallInteger, nullable=False),
    Column("epoch", BigInteger, nullable=False),  # the claim stands while this is its shard's, and its holder lives
    sqlite_with_rowid=False,
)

NAME: Final = "name"
TARGET: Final = "target"
"""Kinds of claims."""
IN_FORCE: Final = and_(*[serves.c[key] == shard.c[key] for key in ("connection", "shards", "shard", "epoch")])
"""A claim, beside the shard that made it, in the epoch that the shard has now."""

autoscaler = Table(
    "autoscaler",  # one row for each autoscaler and target that was ever decided about, within the retention
    metadata,
    Column("id", Integer, primary_key=True),
    Column("name", Text, nullable=False),
    Column("target", Text, nullable=False),
    Column("connection", Text, nullable=False),
    Column("first_at", BigInteger, nullable=False),  # of the first decision or intent
    UniqueConstraint("name", "target"),
    Index("autoscaler_connection", "connection"),
    sqlite_autoincrement=True,  # the journal may still hold rows of one that was forgotten: no other gets its id
)

memory = Table(
    "memory",  # everything that an autoscaler's next decision needs
    metadata,
    Column("autoscaler_id", Integer, primary_key=True, autoincrement=False),
    Column("seq", BigInteger, nullable=False),  # counts the writes of the row
    Column("number", BigInteger, nullable=False),  # of its newest cycle, in the order of commits; 0: there was none
    *_taken(),  # of its newest cycle; without one, of its unfinished write
    Column("body", LargeBinary, nullable=False),  # what it remembers, and its newest decision
    Column("counted", BigInteger),  # as what size under the connection's maxTotal; NULL: not known yet
)

removal = Table(
    "removal",  # what scale-ins were intended to remove, as a connection's removal budget counts it
    metadata,
    Column("autoscaler_id", Integer, primary_key=True, autoincrement=False),
    Column("seq", BigInteger, primary_key=True, autoincrement=False),  # of the memory that was written with it
    *_taken(),
    Column("instances", BigInteger, nullable=False),  # units of size; 0: it was given back
    Index("removal_at", "at"),
    sqlite_with_rowid=False,
)

sighting = Table(
    "sighting",  # when instances were first seen, and seen ready, where a target's back end does not say
    metadata,
    Column("target", Text, primary_key=True),
    *_taken(),
    Column("body", LargeBinary, nullable=False),  # instance -> model.Sighting
)

adapter_memory = Table(
    "adapter_memory",  # what an adapter keeps of a target
    metadata,
    Column("connection", Text, primary_key=True),
    Column("target", Text, primary_key=True),
    Column("body", LargeBinary, nullable=False),  # a JSON object
)

spec = Table(
    "spec",  # what an autoscaler was configured as, a row for each change
    metadata,
    Column("autoscaler_id", Integer, primary_key=True, autoincrement=False),
    Column("number", BigInteger, primary_key=True, autoincrement=False),  # of the first cycle with it
    Column("minimum", BigInteger, nullable=False),
    Column("maximum", BigInteger, nullable=False),
    Column("body", LargeBinary, nullable=False),  # model.Autoscaler
)

journal = Table(
    "journal",  # the newest cycles of up to CHUNK autoscalers, a row a commit, until they are packed into blocks
    metadata,
    Column("connection", Text, primary_key=True),
    Column("shard", Integer, primary_key=True, autoincrement=False),  # which of the connection's wrote it
    Column("period", BigInteger, primary_key=True, autoincrement=False),  # sync period: who has it commits together
    Column("chunk", Integer, primary_key=True, autoincrement=False),  # of autoscalers: id // CHUNK
    Column("number", BigInteger, primary_key=True, autoincrement=False),
    Column("at", BigInteger, nullable=False),
    Column("body", LargeBinary, nullable=False),  # journal.page_of
    sqlite_with_rowid=False,
)
CHUNK: Final = 64


def _blocks(name: str) -> Table:
    return Table(
        name,
        metadata,
        Column("autoscaler_id", Integer, primary_key=True, autoincrement=False),
        Column("first", BigInteger, primary_key=True, autoincrement=False),  # number of the first cycle in it
        Column("since", BigInteger, nullable=False),  # the earliest and the latest time in it
        Column("until", BigInteger, nullable=False),
        Column("size", Integer, nullable=False),  # bytes of the body
        Column("body", LargeBinary, nullable=False),
        Index(f"{name}_until", "until"),
    )


detail = _blocks("detail")  # rows.pack_rows: everything, for state.detail
series = _blocks("series")  # series.pack_points: what charts need, for state.retention

change = Table(
    "change",  # decisions in which something changed, for state.retention
    metadata,
    Column("autoscaler_id", Integer, primary_key=True, autoincrement=False),
    Column("number", BigInteger, primary_key=True, autoincrement=False),
    Column("at", BigInteger, nullable=False),
    Column("spec", BigInteger, nullable=False),
    Column("size", Integer, nullable=False),  # bytes of the body
    Column("body", LargeBinary, nullable=False),  # the columns of a decision, packed
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
    Column("text_id", BigInteger, nullable=False),
    Index("event_at", "at"),
    sqlite_with_rowid=False,
)

event_text = Table(
    "event_text",  # equal texts once
    metadata,
    Column("id", BigInteger, primary_key=True, autoincrement=False),  # a hash of the four
    Column("type", Text, nullable=False),
    Column("reason", Text, nullable=False),
    Column("message", Text, nullable=False),
    Column("direction", Text),
    sqlite_with_rowid=False,
)

steering = Table(
    "steering",  # what operators asked of an autoscaler, until it expires or they take it back
    metadata,
    Column("name", Text, primary_key=True),
    Column("body", LargeBinary, nullable=False),  # model.Steering
)

counter = Table(
    "counter",  # counted up by each change of what it is called after, so that reading that again is rarely needed
    metadata,
    Column("name", Text, primary_key=True),
    Column("value", BigInteger, nullable=False),
)

cut = Table(
    "cut",  # what state.maxSize has cut short: everything of a tier up to a time
    metadata,
    Column("tier", Text, primary_key=True),  # detail, series or events
    Column("until", BigInteger, nullable=False),
    Column("at", BigInteger, nullable=False),  # when that was done last
)

member = Table(
    "member",  # PostgreSQL only: the daemons that share the state, each for as long as it renews its row
    metadata,
    Column("id", Text, primary_key=True),
    Column("place", Text, nullable=False),  # host and pid, for messages
    Column("host", Text, nullable=False),
    Column("version", Text, nullable=False),  # of the package
    Column("token", Text, nullable=False),  # random; another one with each renewal
    Column("duration", BigInteger, nullable=False),  # microseconds for which others leave the same token alone
    Column("renewed", BigInteger, nullable=False),  # the times here are the database's, for people alone
    Column("joined", BigInteger, nullable=False),
    Column("loaded", BigInteger),  # when its configuration was loaded
    Column("digest", Text),  # of that configuration
    Column("needs", Text),  # the shards that it wants to be served (`sharing`); NULL: it has not said yet
)

follows = Table(
    "follows",  # PostgreSQL only: what each member's configuration asks for, a row for each autoscaler
    metadata,
    Column("member", Text, primary_key=True),
    Column("name", Text, primary_key=True),
    Column("target", Text, nullable=False),
    Column("connection", Text, nullable=False),
    Column("shards", SmallInteger, nullable=False),
    Column("shard", SmallInteger, nullable=False),
    Column("digest", Text, nullable=False),  # of its specification
    sqlite_with_rowid=False,
)

KEPT: Final = tuple(table for table in metadata.sorted_tables if table not in (member, follows, serves))
"""The tables of a backup: who uses the state is not part of it."""
STEERING: Final = "steering"
"""Counter of changes of the table of that name."""
INCARNATION: Final = "incarnation"
"""Counter: when the state was restored last, in seconds since 1970; absent: never. Epochs begin with it (`shards`)."""
_FEW: Final = 500
_DRIVERS: Final = {"postgresql": "postgresql+psycopg", "sqlite": "sqlite+pysqlite"}
"""By the dialect's name: whose parameters a statement is for."""


def newest_time(table: Table) -> Column[int]:
    """Of a table of what happened: the column that says what is too old."""
    return table.c.until if "until" in table.c else table.c.at


def number_after_rows(connection: Connection) -> None:
    """After rows were written with their ids, have the database number the next autoscaler after them.

    After those of the journal's pages, too: they may be of one that was forgotten.
    """
    known = connection.execute(select(func.max(autoscaler.c.id))).scalar_one() or 0
    chunk = connection.execute(select(func.max(journal.c.chunk))).scalar_one()
    last = known if chunk is None else max(known, (chunk + 1) * CHUNK - 1)
    if connection.dialect.name == "postgresql":
        sequence = func.pg_get_serial_sequence(autoscaler.name, "id")
        connection.execute(select(func.setval(sequence, last + 1, False)))
    else:
        connection.execute(text("DELETE FROM sqlite_sequence WHERE name = :name"), {"name": autoscaler.name})
        connection.execute(
            text("INSERT INTO sqlite_sequence (name, seq) VALUES (:name, :last)"),
            {"name": autoscaler.name, "last": last},
        )


def few(values: Collection[str]) -> Sequence[str] | None:
    """These as parameters of one statement, sorted; None: there are so many that reading everything is quicker."""
    return sorted(values) if len(values) <= _FEW else None


def upsert(connection: Connection, table: Table, rows: Sequence[dict[str, Any]]) -> None:
    """Insert each row, with all of its columns, or replace the one with the same primary key.

    Straight through the driver: SQLAlchemy takes as long for the parameters of a row as for making its values.
    """
    if not rows:
        return
    statement, names = _upsert(connection.dialect.name, table.name)
    connection.exec_driver_sql(statement, [tuple(map(row.__getitem__, names)) for row in rows] if names else rows)


@cache
def _upsert(dialect_name: str, table_name: str) -> tuple[str, Sequence[str]]:
    """The statement, and the columns in the order of its parameters; empty: they are named."""
    table = metadata.tables[table_name]
    given: dict[str, Any] = {each.name: bindparam(each.name) for each in table.columns if each.default is None}
    statement = _insert(dialect_name, table).values(given)
    keys = [column.name for column in table.primary_key]
    replaced = {column.name: statement.excluded[column.name] for column in table.columns if column.name not in keys}
    return _compiled(dialect_name, statement.on_conflict_do_update(index_elements=keys, set_=replaced))


def replace_known(connection: Connection, table: Table, column: str, rows: Sequence[dict[str, Any]]) -> int:
    """Replace each row, with all of its columns, where `column` is still what the row says as `before`.

    Returns how many there were. As `upsert` does it.
    """
    if not rows:
        return 0
    statement, names = _replace_known(connection.dialect.name, table.name, column)
    parameters = [tuple(map(row.__getitem__, names)) for row in rows] if names else rows
    return connection.exec_driver_sql(statement, parameters).rowcount


@cache
def _replace_known(dialect_name: str, table_name: str, column: str) -> tuple[str, Sequence[str]]:
    table = metadata.tables[table_name]
    keys = {key.name for key in table.primary_key}
    given = [each.name for each in table.columns if each.name not in keys and each.onupdate is None]
    values: dict[str, Any] = {name: bindparam(name) for name in given}
    same = [table.c[key] == bindparam(key) for key in keys]
    statement = update(table).where(*same, table.c[column] == bindparam("before")).values(values)
    return _compiled(dialect_name, statement)


def _compiled(dialect_name: str, statement: Insert | Update) -> tuple[str, Sequence[str]]:
    """The statement for the driver, and the order of its parameters; empty: they are named."""
    compiled = statement.compile(dialect=URL.create(_DRIVERS[dialect_name]).get_dialect()())
    return str(compiled), compiled.positiontup or ()


def insert_absent(connection: Connection, table: Table, rows: Sequence[dict[str, Any]]) -> None:
    """Insert each row that conflicts with none that is there."""
    if not rows:
        return
    connection.execute(_insert(connection.dialect.name, table).on_conflict_do_nothing(), rows)


def _insert(dialect_name: str, table: Table) -> "postgresql.Insert | sqlite.Insert":
    """Only the dialect that is used is loaded: PostgreSQL's takes megabytes."""
    if dialect_name == "postgresql":
        from sqlalchemy.dialects import postgresql  # noqa: PLC0415 - see above

        return postgresql.insert(table)
    from sqlalchemy.dialects import sqlite  # noqa: PLC0415 - see above

    return sqlite.insert(table)
