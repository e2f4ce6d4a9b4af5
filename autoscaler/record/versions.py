"""Creates a state of this version, migrates an older one, and refuses others.

A migration is one step for each version, all in the transaction in which a daemon begins to lead. So a state that
several daemons share is never of a version that its leader does not know: the leader before cannot commit any more, and
an older daemon that stands by does not take the lease of a newer state.
"""

from collections.abc import Sequence
from typing import Final

from sqlalchemy import Connection, insert, inspect, select, update

from autoscaler.errors import StateError
from autoscaler.record import migrations, schema
from autoscaler.record.schema import schema_version

MIGRATIONS: Final = migrations.MIGRATIONS
_BEGIN_ANEW: Final = (
    "install that version again; or begin without a memory: move the file away, or name an empty database (state.url)"
)


class Schema:
    """The version of a state, as a process last saw it. Any thread can use it."""

    def __init__(self, place: str) -> None:
        """`place`: the state's name in messages."""
        self._place = place
        self.is_older = False
        """Whether this process can migrate it once it leads."""
        self._problem: str | None = None
        """Why this process can neither read nor write it now; None: it can."""

    def look(self, connection: Connection) -> None:
        """Read the version. Raises StateError if this process cannot use the state, now or after a migration."""
        try:
            number = self._known_version(connection)
        except StateError as error:
            self.is_older, self._problem = False, str(error)
            raise
        self.is_older = number < schema.VERSION
        self._problem = (
            f"{self._place} was written by an older version, whose daemon still leads; this one migrates it when it "
            "leads itself. Run `autoscaler resign` on the leader's machine, or stop it"
            if self.is_older
            else None
        )

    def _known_version(self, connection: Connection) -> int:
        number = version_of(connection, self._place)
        if number is None:
            raise StateError(f"{self._place} does not hold a state any more; restore it, or restart the daemon")
        require_known(number, self._place)
        return number

    def mark_migrated(self) -> None:
        """Note that the state is of this version: this process has migrated it."""
        self.is_older, self._problem = False, None

    def require(self) -> None:
        """Raise StateError unless the state is of this version."""
        if self._problem is not None:
            raise StateError(self._problem)


def create(connection: Connection, place: str) -> None:
    """Create a state of this version. Raises StateError if another program has tables of these names."""
    require_unused(connection, place)
    # with checkfirst, a table of the same name in another schema of the search path would count
    schema.metadata.create_all(connection, checkfirst=False)
    connection.execute(insert(schema_version).values(version=schema.VERSION))
    connection.execute(insert(schema.writer), migrations.first_writers())
    connection.execute(insert(schema.lease).values(id=1, token="", duration=0, renewed=0, taken=0))
    connection.execute(insert(schema.fence).values(id=1, generation="", epochs="{}"))


def require_unused(connection: Connection, place: str) -> None:
    """Raise StateError if another program has tables of the state's names."""
    if taken := sorted(schema.metadata.tables.keys() & inspect(connection).get_table_names()):
        raise _of_another_program(taken, place)


def migrate(connection: Connection, place: str) -> None:
    """Make a state one of this version. Raises StateError if it is newer, or older than the first step."""
    number = version_of(connection, place)
    assert number is not None  # noqa: S101 - for mypy: the caller has seen the state
    require_known(number, place)
    while number < schema.VERSION:
        MIGRATIONS[number](connection)
        number += 1
    connection.execute(update(schema_version).values(version=number))


def version_of(connection: Connection, place: str) -> int | None:
    """Return the version of the state; None: there is none. Raises StateError for another program's tables.

    Migration tools use the name `schema_version`, too.
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


def holds_state(connection: Connection, place: str, *, remedy: str = _BEGIN_ANEW) -> bool:
    """Return whether there is a state that this version can use, perhaps after a migration. Raises StateError.

    `remedy`: for the message about another version.
    """
    number = version_of(connection, place)
    if number is not None:
        require_known(number, place, remedy)
    return number is not None


def require_state(connection: Connection, place: str) -> None:
    """Raise StateError unless there is a state of this version. For readers."""
    number = version_of(connection, place)
    if number is None:
        raise StateError(f"{place} does not hold a state yet; start the daemon with it once")
    require_known(number, place)
    if number != schema.VERSION:
        raise StateError(
            f"{place} was written by an older version of the autoscaler; start the daemon of this version, which "
            "migrates it, or use that version"
        )


def require_known(number: int, place: str, remedy: str = _BEGIN_ANEW) -> None:
    """Raise StateError for a version that is newer, or older than the first migration."""
    if number == schema.VERSION or number in MIGRATIONS:
        return
    age = "an older" if number < schema.VERSION else "a newer"
    oldest = min([schema.VERSION, *MIGRATIONS])
    reads = f"{schema.VERSION} alone" if oldest == schema.VERSION else f"{oldest} to {schema.VERSION}"
    raise StateError(
        f"{place} was written by {age} version of the autoscaler (its schema is {number}, this version reads {reads}); "
        f"{remedy}"
    )


def _of_another_program(tables: Sequence[str], place: str) -> StateError:
    plural = "s" if len(tables) > 1 else ""
    return StateError(
        f"{place} holds the table{plural} {', '.join(tables)} of another program; give the state a database or a "
        "schema of its own (state.url)"
    )
