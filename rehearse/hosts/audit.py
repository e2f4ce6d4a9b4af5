"""The commits, noted by the database itself in the same transactions: leaders, memories and intents, with their times.

The judge uses them instead of a daemon's own statements. The rehearsals use only those tables of the state that are
named here. Times are by the machine's clock, also if the clocks of daemons are stepped. An autoscaler that was renamed
(`RENAMED_TO`) has its first name.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

import psycopg

from autoscaler.record.daemons import process_of
from autoscaler.record.entries import KEPT
from autoscaler.record.evaluation import history_of
from autoscaler.record.times import to_micros

RENAMED_TO: Final = "-2"
"""What a renamed connection or autoscaler has after its first name, which has no hyphen."""
_NOW: Final = "(extract(epoch FROM pg_catalog.clock_timestamp()) * 1000000)::bigint"
_COMMITTER: Final = "substring(current_setting('application_name') from '^autoscaler ([0-9a-f]{16})')"
"""An expression for the process of the session, as `process_of` names it."""
_NAME: Final = "split_part(name, '-', 1)"
_INSTALL: Final = f"""
CREATE SCHEMA audit;
CREATE TABLE audit.taken (generation text, place text, renewed bigint);
CREATE TABLE audit.lead (generation text, at bigint);
CREATE TABLE audit.memory (name text, target text, body bytea, process text, at bigint);
CREATE TABLE audit.cycle (id bigint, name text, number bigint, at bigint, PRIMARY KEY (id, number));

CREATE FUNCTION audit.note_taken() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO audit.taken VALUES (NEW.holder, NEW.place, OLD.renewed);
    RETURN NULL;
END $$;
CREATE TRIGGER audit AFTER UPDATE ON lease FOR EACH ROW
    WHEN (NEW.holder IS DISTINCT FROM OLD.holder AND NEW.holder IS NOT NULL) EXECUTE FUNCTION audit.note_taken();

-- of the fence, not of the lease: a commit that has begun locks the fence, and the next generation waits for it
CREATE FUNCTION audit.note_lead() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO audit.lead VALUES (NEW.generation, {_NOW});
    RETURN NULL;
END $$;
CREATE TRIGGER audit AFTER UPDATE ON fence FOR EACH ROW
    WHEN (NEW.generation <> OLD.generation) EXECUTE FUNCTION audit.note_lead();

CREATE FUNCTION audit.note_memory() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO audit.memory
        SELECT {_NAME}, target, body, {_COMMITTER}, {_NOW} FROM autoscaler WHERE id = NEW.id;
    INSERT INTO audit.cycle
        SELECT id, {_NAME}, number, {_NOW} FROM autoscaler WHERE id = NEW.id ON CONFLICT DO NOTHING;
    RETURN NULL;
END $$;
CREATE TRIGGER audit AFTER UPDATE ON autoscaler FOR EACH ROW
    WHEN (NEW.seq <> OLD.seq) EXECUTE FUNCTION audit.note_memory();

-- a writer's row stands for the memories that did not change
CREATE FUNCTION audit.note_writer() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO audit.memory
        SELECT {_NAME}, target, body, {_COMMITTER}, {_NOW} FROM autoscaler WHERE writer = NEW.id;
    INSERT INTO audit.cycle
        SELECT id, {_NAME}, number + NEW.commits - since, {_NOW} FROM autoscaler WHERE writer = NEW.id
        ON CONFLICT DO NOTHING;
    RETURN NULL;
END $$;
CREATE TRIGGER audit AFTER UPDATE ON writer FOR EACH ROW EXECUTE FUNCTION audit.note_writer();
"""
_LEADS: Final = "SELECT generation, place, renewed, at FROM audit.lead JOIN audit.taken USING (generation)"
_REMEMBERINGS: Final = "SELECT * FROM audit.memory"
_CYCLES: Final = "SELECT name, number, at FROM audit.cycle"
_NEWEST: Final = "SELECT name, max(at) FROM audit.cycle GROUP BY name"
_LEADER: Final = f"SELECT holder FROM lease WHERE holder IS NOT NULL AND renewed + duration > {_NOW}"
_CONNECTED: Final = f"""
SELECT DISTINCT {_COMMITTER.replace("current_setting('application_name')", "application_name")}
FROM pg_locks JOIN pg_stat_activity USING (pid) WHERE locktype = 'advisory' AND mode = 'ShareLock' AND granted
"""


class Lead(NamedTuple):
    """From `at` on this process led. Times are microseconds since 1970."""

    process: str
    place: str
    """Its host and pid."""
    renewed: int
    """When its predecessor renewed the lease last."""
    at: int


class Commit(NamedTuple):
    """A memory that was committed."""

    name: str
    process: str | None
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
    process: str | None
    at: int
    """When it was committed, or shortly before."""


class Audit:
    """The audit of one database with a state. Used by one thread."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._connection: psycopg.Connection[tuple[Any, ...]] | None = None
        self._lost: dict[str, list[tuple[Any, ...]]] = {}

    def install(self) -> None:
        """Begin to note commits. No daemon may run yet."""
        with psycopg.connect(self._url, autocommit=True) as connection:
            connection.execute(_INSTALL)

    def follow(self, url: str) -> None:
        """Use another server from now on, which may lack some notes.

        The former server still answers, without clients.
        """
        for query in (_LEADS, _REMEMBERINGS):
            self._lost.setdefault(query, []).extend(self._rows(query))
        self.close()
        self._url = url

    def leads(self) -> Sequence[Lead]:
        """Return each beginning of a leadership, in order."""
        return [
            Lead(process_of(generation), place, renewed, at) for generation, place, renewed, at in self._noted(_LEADS)
        ]

    def commits(self) -> Sequence[Commit]:
        """Return all commits of memories, in order."""
        return [Commit(name, process, at) for name, _, _, process, at in self._noted(_REMEMBERINGS)]

    def intended(self) -> Sequence[Intended]:
        """Return all intents, also of cycles that were never recorded, in the order of their commits."""
        found: dict[tuple[str, int], Intended] = {}
        for name, target, body, process, at in self._noted(_REMEMBERINGS):
            if (
                made := history_of(KEPT.load(body).history, (), 0).pending
            ) is not None:  # from its intent on until it is settled
                key = name, to_micros(made.at)
                found.setdefault(
                    key, Intended(name, _target(target), made.size, made.decided_from, key[1], process, at)
                )
        return list(found.values())

    def newest(self) -> Mapping[str, int]:
        """Return autoscaler -> time of the record of its newest cycle."""
        return dict(self._rows(_NEWEST))

    def first_after(self, at: int) -> Mapping[str, int]:
        """Return autoscaler -> time of the record of its first cycle after that time."""
        found: dict[str, int] = {}
        for name, _, recorded in self._rows(_CYCLES):
            if recorded > at:
                found[name] = min(recorded, found.get(name, recorded))
        return found

    def cycles(self) -> Mapping[str, Sequence[int]]:
        """Return autoscaler -> the times of the records of its cycles, in the order of their numbers."""
        found: dict[str, dict[int, int]] = {}
        for name, number, at in self._rows(_CYCLES):
            if number:  # 0: an intent before the first cycle was recorded
                found.setdefault(name, {})[number] = at
        return {name: [at for _, at in sorted(known.items())] for name, known in found.items()}

    def leader(self) -> str | None:
        """Return the process that holds the lease now; None: none does."""
        return next((process_of(generation) for (generation,) in self._rows(_LEADER)), None)

    def connected(self) -> int:
        """Return the number of daemons that are connected, the leader included."""
        return len(self._rows(_CONNECTED))

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
