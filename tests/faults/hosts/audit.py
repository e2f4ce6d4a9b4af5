"""What is committed, noted by the database itself in the same transaction: who held a shard when, who intended what.

The rehearsals judge by this and not by what a daemon says of itself. Of the tables of the state, those that are named
here are all that the rehearsals know of. Times are the machine's own, also where the daemons' are stepped.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

import psycopg

_NOW: Final = "(extract(epoch FROM pg_catalog.clock_timestamp()) * 1000000)::bigint"
_INSTALL: Final = f"""
CREATE SCHEMA audit;
CREATE TABLE audit.member (id text, place text, at bigint);
CREATE TABLE audit.place (name text, target text PRIMARY KEY, connection text, shards int, shard int);
CREATE TABLE audit.hold (connection text, shards int, shard int, holder text, at bigint);
CREATE TABLE audit.intent (name text, target text, size bigint, start bigint, decided bigint, holder text, at bigint);
CREATE TABLE audit.cycle (name text, decided bigint, at bigint);

CREATE FUNCTION audit.note_member() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO audit.member VALUES (NEW.id, NEW.place, {_NOW});
    RETURN NULL;
END $$;
CREATE TRIGGER audit AFTER INSERT ON member FOR EACH ROW EXECUTE FUNCTION audit.note_member();

CREATE FUNCTION audit.note_place() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO audit.place VALUES (NEW.name, NEW.target, NEW.connection, NEW.shards, NEW.shard) ON CONFLICT DO NOTHING;
    RETURN NULL;
END $$;
CREATE TRIGGER audit AFTER INSERT ON follows FOR EACH ROW EXECUTE FUNCTION audit.note_place();

CREATE FUNCTION audit.note_hold() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO audit.hold VALUES (NEW.connection, NEW.shards, NEW.shard, NEW.holder, {_NOW});
    RETURN NULL;
END $$;
CREATE TRIGGER audit AFTER INSERT ON shard FOR EACH ROW EXECUTE FUNCTION audit.note_hold();
CREATE TRIGGER audit_change AFTER UPDATE ON shard FOR EACH ROW
    WHEN (OLD.holder IS DISTINCT FROM NEW.holder) EXECUTE FUNCTION audit.note_hold();

CREATE FUNCTION audit.note_intent() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO audit.intent
        SELECT autoscaler.name, autoscaler.target, NEW.size, NEW.decided_from, NEW.at, shard.holder, {_NOW}
        FROM autoscaler JOIN audit.place USING (target) JOIN shard
            ON (shard.connection, shard.shards, shard.shard) = (place.connection, place.shards, place.shard)
        WHERE autoscaler.id = NEW.autoscaler_id;
    RETURN NULL;
END $$;
CREATE TRIGGER audit AFTER INSERT OR UPDATE ON intent FOR EACH ROW EXECUTE FUNCTION audit.note_intent();

CREATE FUNCTION audit.note_cycle() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO audit.cycle SELECT name, NEW.at, {_NOW} FROM autoscaler WHERE id = NEW.autoscaler_id;
    RETURN NULL;
END $$;
CREATE TRIGGER audit AFTER INSERT ON memory FOR EACH ROW EXECUTE FUNCTION audit.note_cycle();
CREATE TRIGGER audit_change AFTER UPDATE ON memory FOR EACH ROW
    WHEN (OLD.at <> NEW.at) EXECUTE FUNCTION audit.note_cycle();
"""
_HELD: Final = """
SELECT DISTINCT target, holder, at FROM audit.hold JOIN audit.place USING (connection, shards, shard)
WHERE holder IS NOT NULL ORDER BY at
"""
_HOLDERS: Final = """
SELECT name, holder FROM audit.place JOIN shard USING (connection, shards, shard) JOIN member ON holder = member.id
"""
_SHARES: Final = "SELECT holder, count(*) FROM shard JOIN member ON holder = member.id GROUP BY holder"


class Hold(NamedTuple):
    """From `at` on a target was this member's to scale."""

    target: str
    """As the state names it: connection and name."""
    holder: str
    at: int


class Intended(NamedTuple):
    """A write that was committed before it was sent. Times are microseconds since 1970."""

    name: str
    target: str
    size: int
    start: int
    """The size that it was decided from."""
    decided: int
    """The `now` of its decision."""
    holder: str | None
    at: int
    """When it was committed, or shortly before."""


class Cycle(NamedTuple):
    """One that was recorded."""

    name: str
    decided: int
    """Its `now`."""
    at: int
    """When it was committed, or shortly before."""


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
        """Each time that a target came to another member, in the order of the commits, or nearly so."""
        return [Hold(_target(target), *rest) for target, *rest in self._rows(_HELD)]

    def intended(self) -> Sequence[Intended]:
        """All there were, also of cycles that were never recorded, in the same order."""
        rows = self._rows("SELECT * FROM audit.intent ORDER BY at")
        return [Intended(name, _target(target), *rest) for name, target, *rest in rows]

    def cycles(self) -> Sequence[Cycle]:
        """All that were recorded, in the same order."""
        return [Cycle(*row) for row in self._rows("SELECT * FROM audit.cycle ORDER BY at")]

    def newest(self) -> Mapping[str, int]:
        """Autoscaler -> when its newest cycle was recorded."""
        return dict(self._rows("SELECT name, max(at) FROM audit.cycle GROUP BY name"))

    def shares(self) -> Mapping[str, int]:
        """Living member -> how many of what is shared out it holds; those that hold none have no entry."""
        return dict(self._rows(_SHARES))

    def holders(self) -> Mapping[str, str]:
        """Autoscaler -> the living member that serves it, as it is now."""
        return dict(self._rows(_HOLDERS))

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


def _target(text: str) -> str:
    """What is scaled, whatever the connection to it is called: `nomad/JOB`, `aws/GROUP`."""
    connection, name, *_ = json.loads(text)
    return f"{connection.partition('-')[0]}/{name.partition('/')[0]}"
