"""The tables, their version, and how a database of an older version becomes one of this.

Times are microseconds since 1970, UTC. Values that only this package reads are packed JSON (`codec`).
"""

from collections.abc import Callable, Sequence
from typing import Any, Final, TypeAlias

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Connection,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    SmallInteger,
    Table,
    Text,
    UniqueConstraint,
    insert,
    inspect,
    select,
    update,
)
from sqlalchemy.dialects import postgresql, sqlite

from autoscaler.errors import StateError

metadata = MetaData()

schema_version = Table("schema_version", metadata, Column("version", Integer, nullable=False))

autoscaler = Table(
    "autoscaler",  # one row for each autoscaler and target that was ever decided about, within the retention
    metadata,
    Column("id", Integer, primary_key=True),
    Column("name", Text, nullable=False),
    Column("target", Text, nullable=False),
    Column("at", BigInteger, nullable=False),  # of the last decision or intent
    Column("spec_at", BigInteger),  # of the specification in force
    Column("standing", LargeBinary),  # values.Standing
    UniqueConstraint("name", "target"),
)

spec = Table(
    "spec",  # what an autoscaler was configured as, a row for each change
    metadata,
    Column("autoscaler_id", Integer, primary_key=True, autoincrement=False),
    Column("at", BigInteger, primary_key=True, autoincrement=False),
    Column("minimum", BigInteger, nullable=False),
    Column("maximum", BigInteger, nullable=False),
    Column("body", LargeBinary, nullable=False),  # model.Autoscaler
)

slot = Table(
    "slot",  # recommendations and scale events, in the order of their lists
    metadata,
    Column("autoscaler_id", Integer, primary_key=True, autoincrement=False),
    Column("kind", SmallInteger, primary_key=True, autoincrement=False),
    Column("position", Integer, primary_key=True, autoincrement=False),
    Column("amount", BigInteger, nullable=False),  # replicas, or the change
    Column("at", BigInteger, nullable=False),
    sqlite_with_rowid=False,
)
RECOMMENDATION: Final = 0
SCALE_UP: Final = 1
SCALE_DOWN: Final = 2

intent = Table(
    "intent",  # writes that were announced and have no outcome yet
    metadata,
    Column("autoscaler_id", Integer, primary_key=True, autoincrement=False),
    Column("size", BigInteger, nullable=False),
    Column("decided_from", BigInteger, nullable=False),
    Column("at", BigInteger, nullable=False),
)

decision = Table(
    "decision",
    metadata,
    Column("autoscaler_id", Integer, primary_key=True, autoincrement=False),
    Column("at", BigInteger, primary_key=True, autoincrement=False),
    Column("spec_at", BigInteger, nullable=False),
    Column("dry_run", Boolean, nullable=False),
    Column("current", BigInteger),
    Column("desired", BigInteger),
    Column("metrics", Text, nullable=False),  # tuple of values.MetricPoint, for charts
    Column("basis_at", BigInteger),  # of the decision whose body is the dictionary of this one's; NULL: none
    Column("body", LargeBinary, nullable=False),  # values.Seen
    Index("decision_at", "at"),
)

event = Table(
    "event",
    metadata,
    Column("id", BigInteger().with_variant(Integer, "sqlite"), primary_key=True),
    Column("autoscaler_id", Integer, nullable=False),
    Column("at", BigInteger, nullable=False),
    Column("dry_run", Boolean, nullable=False),
    Column("type", Text, nullable=False),
    Column("reason", Text, nullable=False),
    Column("message", Text, nullable=False),
    Index("event_autoscaler", "autoscaler_id", "at"),
    Index("event_at", "at"),
)

sighting = Table(
    "sighting",  # when instances were first seen, and seen ready, where a target's back end does not say
    metadata,
    Column("target", Text, primary_key=True),
    Column("body", LargeBinary, nullable=False),  # instance -> sighting
)

steering = Table(
    "steering",  # what operators asked of an autoscaler, until it expires or they take it back
    metadata,
    Column("name", Text, primary_key=True),
    Column("body", LargeBinary, nullable=False),  # model.Steering
)

Migration: TypeAlias = Callable[[Connection], None]
MIGRATIONS: Sequence[Migration] = ()
"""In order; the first takes a database from version 1 to version 2. A new database starts at the newest version."""


def migrate(connection: Connection, place: str) -> None:
    """Bring a new or older database to this version, within the caller's transaction. Raises StateError."""
    newest = 1 + len(MIGRATIONS)
    version = _version(connection)
    if version is None:
        metadata.create_all(connection)
        connection.execute(insert(schema_version).values(version=newest))
        return
    _refuse_newer(version, place)
    if version < newest:
        for step in MIGRATIONS[version - 1 :]:
            step(connection)
        connection.execute(update(schema_version).values(version=newest))


def require_current(connection: Connection, place: str) -> None:
    """Raise StateError unless the database is of this version: for those who only read."""
    version = _version(connection)
    if version is None:
        raise StateError(f"{place} holds no state yet; start the daemon once with it")
    _refuse_newer(version, place)
    if version < 1 + len(MIGRATIONS):
        raise StateError(f"{place} was written by an older version; start this version's daemon once, it converts it")


def _version(connection: Connection) -> int | None:
    if not inspect(connection).has_table(schema_version.name):
        return None
    version: int = connection.execute(select(schema_version.c.version)).scalar_one()
    return version


def _refuse_newer(version: int, place: str) -> None:
    newest = 1 + len(MIGRATIONS)
    if version > newest:
        raise StateError(
            f"{place} was written by a newer version (its schema is {version}, this version knows {newest}); "
            "install the newer version again, or give this one a state of its own (state.url)"
        )


def upsert(connection: Connection, table: Table, rows: Sequence[dict[str, Any]]) -> None:
    """Insert each row, or replace the one with the same primary key."""
    if not rows:
        return
    dialect = postgresql if connection.dialect.name == "postgresql" else sqlite
    statement = dialect.insert(table)
    keys = [column.name for column in table.primary_key]
    replaced = {column.name: statement.excluded[column.name] for column in table.columns if column.name not in keys}
    connection.execute(statement.on_conflict_do_update(index_elements=keys, set_=replaced), rows)
