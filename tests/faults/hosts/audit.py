"""The commits, noted by the database itself in the same transactions: claims and intents, with holder and time.

The judge uses them instead of a daemon's own statements. The rehearsals use only those tables of the state that are
named here. Times are by the machine's clock, also if the clocks of daemons are stepped.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

import psycopg

from autoscaler.record.entries import _REMEMBERED
from autoscaler.record.member_rows import new_process, sessions_of
from autoscaler.record.times import to_micros

_NOW: Final = "(extract(epoch FROM pg_catalog.clock_timestamp()) * 1000000)::bigint"
_COMMITTER: Final = f"""(
    SELECT id FROM member
    WHERE '{sessions_of("")}' || left(id, {len(new_process())}) = current_setting('application_name')
    ORDER BY joined DESC LIMIT 1
)"""
"""An expression for the member of the session."""
_INSTALL: Final = f"""
CREATE SCHEMA audit;
CREATE TABLE audit.member (id text, place text, at bigint);
CREATE TABLE audit.hold (target text, holder text, at bigint);
CREATE TABLE audit.memory (name text, target text, body bytea, holder text, at bigint);
CREATE TABLE audit.cycle (id bigint, name text, number bigint, at bigint, PRIMARY KEY (id, number));

CREATE FUNCTION audit.note_member() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO audit.member VALUES (NEW.id, NEW.place, {_NOW});
    RETURN NULL;
END $$;
CREATE TRIGGER audit AFTER INSERT ON member FOR EACH ROW EXECUTE FUNCTION audit.note_member();

CREATE FUNCTION audit.note_hold() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO audit.hold SELECT NEW.key, holder, {_NOW} FROM shard
        WHERE connection = NEW.connection AND shards = NEW.shards AND shard = NEW.shard;
    RETURN NULL;
END $$;
CREATE TRIGGER audit AFTER INSERT OR UPDATE ON serves FOR EACH ROW
    WHEN (NEW.kind = 'target') EXECUTE FUNCTION audit.note_hold();

CREATE FUNCTION audit.note_memory() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO audit.memory
        SELECT name, target, NEW.body, {_COMMITTER}, {_NOW} FROM autoscaler WHERE id = NEW.autoscaler_id;
    INSERT INTO audit.cycle
        SELECT id, name, NEW.number, {_NOW} FROM autoscaler WHERE id = NEW.autoscaler_id ON CONFLICT DO NOTHING;
    RETURN NULL;
END $$;
CREATE TRIGGER audit AFTER INSERT OR UPDATE ON memory FOR EACH ROW EXECUTE FUNCTION audit.note_memory();
"""
_HELD: Final = "SELECT target, holder, at FROM audit.hold"
_HOLDERS: Final = """
SELECT key, holder FROM serves JOIN shard USING (connection, shards, shard, epoch) JOIN member ON holder = member.id
WHERE kind = 'name'
"""
_SHARES: Final = "SELECT holder, connection FROM shard JOIN member ON holder = member.id"
_MEMBERS: Final = "SELECT id, place, at FROM audit.member"
_REMEMBERINGS: Final = "SELECT * FROM audit.memory"
_NEWEST: Final = "SELECT name, max(at) FROM audit.cycle GROUP BY name"


class Hold(NamedTuple):
    """From `at` on a shard of this member had claimed the target."""

    target: str
    """As `Order.target` names it."""
    holder: str
    at: int


class Intended(NamedTuple):
    """A write that was committed before it was sent. Times are microseconds since 1970."""

    name: str
    target: str
    size: int
    start: int
    """The size in the decision's observation."""
    decided: int
    """The `now` of its decision."""
    holder: str | None
    at: int
    """When it was committed, or shortly before."""


class Audit:
    """The audit of one database with a state. Used by one thread."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._connection: psycopg.Connection[tuple[Any, ...]] | None = None
        self._lost: dict[str, list[tuple[Any, ...]]] = {}
        self._processes: dict[str, tuple[int, int]] = {}

    def install(self) -> None:
        """Begin to note commits. No daemon may run yet."""
        with psycopg.connect(self._url, autocommit=True) as connection:
            connection.execute(_INSTALL)

    def follow(self, url: str) -> None:
        """Use another server from now on, which may lack some notes.

        The former server still answers, without clients.
        """
        for query in (_MEMBERS, _HELD, _REMEMBERINGS):
            self._lost.setdefault(query, []).extend(self._rows(query))
        self.close()
        self._url = url

    def process(self, member: str) -> tuple[int, int]:
        """Return the pid of this member's daemon, and when it joined, in microseconds since 1970."""
        if member not in self._processes:
            rows = self._noted(_MEMBERS)
            self._processes = {name: (int(place.rpartition(" ")[2]), at) for name, place, at in rows}
        return self._processes[member]

    def holds(self) -> Sequence[Hold]:
        """Return each claim of a target by another member, nearly in the order of the commits."""
        return [Hold(_target(target), *rest) for target, *rest in self._noted(_HELD)]

    def intended(self) -> Sequence[Intended]:
        """Return all intents, also of cycles that were never recorded, in the same order."""
        found: dict[tuple[str, int], Intended] = {}
        for name, target, body, holder, at in self._noted(_REMEMBERINGS):
            if (made := _REMEMBERED.load(body).pending) is not None:  # from its intent on until it is settled
                key = name, to_micros(made.at)
                found.setdefault(key, Intended(name, _target(target), made.size, made.decided_from, key[1], holder, at))
        return list(found.values())

    def newest(self) -> Mapping[str, int]:
        """Return autoscaler -> time of the record of its newest cycle."""
        return dict(self._rows(_NEWEST))

    def shares(self) -> Sequence[tuple[str, str]]:
        """Return the living member and the connection of each shard that is held."""
        return [(holder, connection) for holder, connection in self._rows(_SHARES)]

    def holders(self) -> Mapping[str, str]:
        """Return autoscaler -> the living member that serves it now."""
        return dict(self._rows(_HOLDERS))

    def close(self) -> None:
        """Close its connections."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _noted(self, query: str) -> Sequence[tuple[Any, ...]]:
        """Return the notes, also of a failed server, in the order of the last column."""
        return sorted({*self._lost.get(query, ()), *self._rows(query)}, key=lambda row: row[-1])

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
    """Return a target's name without the connection's name: `nomad/JOB`, `aws/GROUP`."""
    connection, name, *_ = json.loads(text)
    return f"{connection.partition('-')[0]}/{name.partition('/')[0]}"
