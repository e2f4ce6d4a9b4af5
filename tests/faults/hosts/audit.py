"""What is committed, noted by the database itself in the same transaction: who claimed what when, who intended what.

The rehearsals judge by this and not by what a daemon says of itself. Of the tables of the state, those that are named
here are all that the rehearsals know of. Times are the machine's own, also where the daemons' are stepped.
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
"""The member whose session it is."""
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
    """From `at` on a target was this member's to scale: a shard of it had claimed it."""

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
    """The size that it was decided from."""
    decided: int
    """The `now` of its decision."""
    holder: str | None
    at: int
    """When it was committed, or shortly before."""


class Audit:
    """Of one database in which a state exists. Used by one thread."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._connection: psycopg.Connection[tuple[Any, ...]] | None = None
        self._lost: dict[str, list[tuple[Any, ...]]] = {}
        self._processes: dict[str, tuple[int, int]] = {}

    def install(self) -> None:
        """Begin to note. No daemon runs yet."""
        with psycopg.connect(self._url, autocommit=True) as connection:
            connection.execute(_INSTALL)

    def follow(self, url: str) -> None:
        """The database is another server from now on, which may not have all that was noted.

        The former one still answers, and has no clients any more.
        """
        for query in (_MEMBERS, _HELD, _REMEMBERINGS):
            self._lost.setdefault(query, []).extend(self._rows(query))
        self.close()
        self._url = url

    def process(self, member: str) -> tuple[int, int]:
        """The pid of the daemon that is or was this member, and when it joined, in microseconds since 1970."""
        if member not in self._processes:
            rows = self._noted(_MEMBERS)
            self._processes = {name: (int(place.rpartition(" ")[2]), at) for name, place, at in rows}
        return self._processes[member]

    def holds(self) -> Sequence[Hold]:
        """Each time that a target came to another member, in the order of the commits, or nearly so."""
        return [Hold(_target(target), *rest) for target, *rest in self._noted(_HELD)]

    def intended(self) -> Sequence[Intended]:
        """All there were, also of cycles that were never recorded, in the same order."""
        found: dict[tuple[str, int], Intended] = {}
        for name, target, body, holder, at in self._noted(_REMEMBERINGS):
            if (made := _REMEMBERED.load(body).unfinished) is not None:  # from its announcement on until it is settled
                key = name, to_micros(made.at)
                found.setdefault(key, Intended(name, _target(target), made.size, made.decided_from, key[1], holder, at))
        return list(found.values())

    def newest(self) -> Mapping[str, int]:
        """Autoscaler -> when its newest cycle was recorded."""
        return dict(self._rows(_NEWEST))

    def cycles(self, name: str) -> Sequence[int]:
        """When each cycle of the autoscaler was recorded, in their order."""
        rows = self._rows("SELECT name, number, at FROM audit.cycle WHERE number > 0 ORDER BY id, number")
        return [at for of, _, at in rows if of == name]

    def shares(self) -> Sequence[tuple[str, str]]:
        """Living member and connection of each shard that is held."""
        return [(holder, connection) for holder, connection in self._rows(_SHARES)]

    def holders(self) -> Mapping[str, str]:
        """Autoscaler -> the living member that serves it, as it is now."""
        return dict(self._rows(_HOLDERS))

    def close(self) -> None:
        """No further questions."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _noted(self, query: str) -> Sequence[tuple[Any, ...]]:
        """Also by a server that has failed; in the order of the last column."""
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
    """What is scaled, whatever the connection to it is called: `nomad/JOB`, `aws/GROUP`."""
    connection, name, *_ = json.loads(text)
    return f"{connection.partition('-')[0]}/{name.partition('/')[0]}"
