"""Which version a state is of: made, converted, and refused where this version cannot use it."""

from collections.abc import Sequence

from sqlalchemy import Connection, insert, inspect, select, text, update

from autoscaler.errors import StateError
from autoscaler.record import schema
from autoscaler.record.schema import schema_version


def create(connection: Connection, place: str) -> None:
    """A new state of this version. Raises StateError where another program has tables of these names."""
    if taken := sorted(schema.metadata.tables.keys() & inspect(connection).get_table_names()):
        raise _of_another_program(taken, place)
    # Checked, a table of the same name in another schema of the search path would count.
    schema.metadata.create_all(connection, checkfirst=False)
    connection.execute(insert(schema_version).values(version=schema.VERSION, works_for=schema.WORKS_FOR))
    connection.execute(insert(schema.counter).values(name=schema.STEERING, value=0))


def convert_version_2(connection: Connection) -> None:
    """Make a state of version 2 one of version 3, in place."""
    for column in (schema.slot.c.holder, schema_version.c.works_for, schema.memory.c.counted):
        connection.execute(text(f"ALTER TABLE {column.table.name} ADD COLUMN {column.name} {column.type}"))
    schema.metadata.create_all(connection, tables=[schema.member, schema.follows, schema.removal])
    connection.execute(update(schema_version).values(version=3, works_for=3))


def version(connection: Connection, place: str) -> int | None:
    """Of the state; None: there is none yet. Raises StateError where the table is another program's.

    `schema_version` is a name that tools for migrations use, too.
    """
    inspector = inspect(connection)
    if not inspector.has_table(schema_version.name):
        return None
    columns = [column["name"] for column in inspector.get_columns(schema_version.name)]
    found = connection.execute(select(schema_version.c.version)).scalars().all() if "version" in columns else []
    number = found[0] if len(found) == 1 else None
    if not isinstance(number, int) or number < 1 or not inspector.has_table(schema.autoscaler.name):
        raise _of_another_program([schema_version.name], place)
    return number


def _of_another_program(tables: Sequence[str], place: str) -> StateError:
    plural = "s" if len(tables) > 1 else ""
    return StateError(
        f"{place} holds the table{plural} {', '.join(tables)} of another program; give the state a database or a "
        "schema of its own (state.url)"
    )


def require_current(connection: Connection, place: str) -> None:
    """Raise StateError unless the state is of this version: for those who only read."""
    found = version(connection, place)
    if found is None:
        raise StateError(f"{place} does not hold a state yet; start the daemon once with it")
    refuse_newer(connection, found, place)
    if found < schema.VERSION:
        raise StateError(f"{place} was written by an older version; start this version's daemon once, it converts it")


def refuse_newer(connection: Connection, found: int, place: str) -> None:
    """Raise StateError for a state of a newer version that does not work for this one."""
    if found <= schema.VERSION or connection.execute(select(schema_version.c.works_for)).scalar_one() <= schema.VERSION:
        return
    raise newer(found, place)


def newer(found: int, place: str) -> StateError:
    """What to say of a state that this version cannot use."""
    return StateError(
        f"{place} was written by a newer version (its schema is {found}, this version knows {schema.VERSION}); "
        "install the newer version again, or give this one a state of its own (state.url)"
    )
