"""What is committed, noted by the database itself in the same transaction: who held a slot when, who intended what.

The rehearsals judge by this and not by what a daemon says of itself.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

import psycopg

_NOW: Final = "(extract(epoch FROM clock_timestamp()) * 1000000)::bigint"
_INSTALL: Final = f"""
CREATE SCHEMA audit;
CREATE TABLE audit.member (id text, place text, at bigint);
CREATE TABLE audit.hold (connection text, slot int, epoch bigint, holder text, at bigint);
CREATE TABLE audit.intent
    (name text, connection text, slot int, size bigint, start bigint, decided bigint, epoch bigint, holder text,
     at bigint);

CREATE FUNCTION audit.note_member() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO audit.member VALUES (NEW.id, NEW.place, {_NOW});
    RETURN NULL;
END $$;
CREATE TRIGGER audit AFTER INSERT ON member FOR EACH ROW EXECUTE FUNCTION audit.note_member();

CREATE FUNCTION audit.note_hold() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO audit.hold VALUES (NEW.connection, NEW.slot, NEW.epoch, NEW.holder, {_NOW});
    RETURN NULL;
END $$;
CREATE TRIGGER audit AFTER INSERT ON slot FOR EACH ROW EXECUTE FUNCTION audit.note_hold();
CREATE TRIGGER audit_change AFTER UPDATE ON slot FOR EACH ROW
    WHEN (OLD.holder IS DISTINCT FROM NEW.holder OR OLD.epoch <> NEW.epoch) EXECUTE FUNCTION audit.note_hold();

CREATE FUNCTION audit.note_intent() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO audit.intent
        SELECT autoscaler.name, slot.connection, slot.slot, NEW.size, NEW.decided_from, NEW.at, slot.epoch, slot.holder,
            {_NOW}
        FROM autoscaler JOIN slot USING (connection, slot) WHERE autoscaler.id = NEW.autoscaler_id;
    RETURN NULL;
END $$;
CREATE TRIGGER audit AFTER INSERT OR UPDATE ON intent FOR EACH ROW EXECUTE FUNCTION audit.note_intent();
"""


class Hold(NamedTuple):
    """From `at` on a slot was in this epoch, of this member; None: nobody's."""

    connection: str
    slot: int
    epoch: int
    holder: str | None
    at: int


class Intended(NamedTuple):
    """A write that was committed before it was sent. Times are microseconds since 1970, by the database's clock."""

    name: str
    connection: str
    slot: int
    size: int
    start: int
    """The size that it was decided from."""
    decided: int
    """The `now` of its decision."""
    epoch: int
    holder: str | None
    at: int


class Audit:
    """Of one database in which a state exists. Used by one thread."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._connection: psycopg.Connection[tuple[Any, ...]] | None = None
        self._processes: dict[str, tuple[int, int]] = {}

    def install(self) -> None:
        """Begin to note. No daemon runs yet."""
        with psycopg.connect(self._url, autocommit=True) as connection:
            connection.execute(_INSTALL)

    def process(self, member: str) -> tuple[int, int]:
        """The pid of the daemon that is or was this member, and when it joined, in microseconds since 1970."""
        if member not in self._processes:
            rows = self._rows("SELECT id, place, at FROM audit.member")
            self._processes = {name: (int(place.rpartition(" ")[2]), at) for name, place, at in rows}
        return self._processes[member]

    def holds(self) -> Sequence[Hold]:
        """In the order of their commits, or nearly so."""
        return [Hold(*row) for row in self._rows("SELECT * FROM audit.hold ORDER BY at")]

    def intended(self) -> Sequence[Intended]:
        """All there were, also of cycles that were never recorded."""
        return [Intended(*row) for row in self._rows("SELECT * FROM audit.intent ORDER BY at")]

    def holders(self) -> Mapping[tuple[str, int], str]:
        """Connection and slot -> the living member that holds it, as it is now."""
        query = "SELECT connection, slot, holder FROM slot JOIN member ON holder = member.id"
        return {(connection, slot): holder for connection, slot, holder in self._rows(query)}

    def ask(self, query: str) -> Sequence[tuple[Any, ...]]:
        """The rows of any other question."""
        return self._rows(query)

    def close(self) -> None:
        """No further questions."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _rows(self, query: str) -> Sequence[tuple[Any, ...]]:
        try:
            return self._asked(query)
        except psycopg.OperationalError:  # the server was restarted
            self.close()
            return self._asked(query)

    def _asked(self, query: str) -> Sequence[tuple[Any, ...]]:
        if self._connection is None:
            self._connection = psycopg.connect(self._url, autocommit=True)
        return self._connection.execute(query.encode()).fetchall()
