"""Creates a state of this version, and refuses states of other versions."""

from collections.abc import Sequence
from typing import Final

from sqlalchemy import Connection, insert, inspect, select

from autoscaler.errors import StateError
from autoscaler.record import schema
from autoscaler.record.schema import schema_version

_BEGIN_ANEW: Final = (
    "install that version again; or begin without a memory: move the file away, or name an empty database (state.url)"
)


def create(connection: Connection, place: str) -> None:
    """Create a state of this version. Raises StateError if another program has tables of these names."""
    if taken := sorted(schema.metadata.tables.keys() & inspect(connection).get_table_names()):
        raise _of_another_program(taken, place)
    # with checkfirst, a table of the same name in another schema of the search path would count
    schema.metadata.create_all(connection, checkfirst=False)
    connection.execute(insert(schema_version).values(version=schema.VERSION))
    connection.execute(insert(schema.counter).values(name=schema.STEERING, value=0))


def holds_state(connection: Connection, place: str, *, remedy: str = _BEGIN_ANEW) -> bool:
    """Return whether there is a state. Raises StateError for another version, or another program's tables.

    Migration tools use the name `schema_version`, too. `remedy`: for the message about another version.
    """
    inspector = inspect(connection)
    if not inspector.has_table(schema_version.name):
        return False
    columns = [column["name"] for column in inspector.get_columns(schema_version.name)]
    found = connection.execute(select(schema_version.c.version)).scalars().all() if "version" in columns else []
    number = found[0] if len(found) == 1 else None
    if not isinstance(number, int) or number < 1 or not inspector.has_table(schema.autoscaler.name):
        raise _of_another_program([schema_version.name], place)
    if number != schema.VERSION:
        raise _of_another_version(number, place, remedy)
    return True


def require_state(connection: Connection, place: str) -> None:
    """Raise StateError unless there is a state of this version. For readers."""
    if not holds_state(connection, place):
        raise StateError(f"{place} does not hold a state yet; start the daemon with it once")


def _of_another_program(tables: Sequence[str], place: str) -> StateError:
    plural = "s" if len(tables) > 1 else ""
    return StateError(
        f"{place} holds the table{plural} {', '.join(tables)} of another program; give the state a database or a "
        "schema of its own (state.url)"
    )


def _of_another_version(number: int, place: str, remedy: str) -> StateError:
    age = "an older" if number < schema.VERSION else "a newer"
    return StateError(
        f"{place} was written by {age} version of the autoscaler (its schema is {number}, this version reads "
        f"{schema.VERSION} alone); {remedy}"
    )
