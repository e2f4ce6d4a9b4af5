"""The durable state, for the daemon: the record half of the cycle's `Ports`.

Memory and disk stay equal: memory changes only after a commit, and after any failed transaction (which may or may not
have reached the disk) it is thrown away and read again. What was written to a target and could not be recorded then
comes back as an unfinished intent, as it does after a kill -9.
"""

import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

from sqlalchemy import URL, Connection, Engine, bindparam, delete, insert, select, update

from autoscaler.model import Autoscaler, Decision, History, Intent, Observation, Steering
from autoscaler.record import engine as engines
from autoscaler.record import schema
from autoscaler.record.archive import STEERING, Archive
from autoscaler.record.codec import from_micros, to_micros
from autoscaler.record.memory import Entry, Key, key_of, load
from autoscaler.record.retention import Retention
from autoscaler.record.rows import Change, body_of, change_of
from autoscaler.record.sightings import KeptSightings, SightingT


class Store(Archive):
    """Keeps what autoscalers remember; shared by all lanes' threads."""

    def __init__(self, url: URL, engine: Engine, lock: engines.FileLock | None, retention: timedelta) -> None:
        super().__init__(url, engine)
        self._file_lock = lock
        self._retention = Retention(retention)
        self._lock = threading.Lock()
        """Held over a transaction and what memory makes of it."""
        self._entries: dict[Key, Entry] | None = None
        """None: not read yet, or in doubt since a transaction failed."""
        self._scalers: dict[Key, Autoscaler] = {}
        """As the last `recall` named them: a decision is recorded with what it was asked for."""
        self._latest: dict[str, Decision] | None = None
        self._steering: dict[str, Steering] | None = None
        """None: not read yet, or in doubt since a transaction failed."""

    @classmethod
    def open(cls, url: str | None, state_dir: Path, retention: timedelta) -> "Store":
        """The state at `url`, or as SQLite in `state_dir`; created or converted where needed. Raises StateError."""
        where, lock = engines.locate(url, state_dir), None
        with ExitStack() as undo:
            if where.get_backend_name() == "sqlite":
                lock = engines.FileLock(where)
                undo.callback(lock.release)
            engine = engines.connect(where)
            undo.callback(engine.dispose)
            with engines.explained(where), engine.begin() as connection:
                schema.migrate(connection, engines.place(where))
            undo.pop_all()  # the store closes them from here on
        return cls(where, engine, lock, retention)

    def close(self) -> None:
        """Close every connection and let another daemon have the state."""
        super().close()
        if self._file_lock is not None:
            self._file_lock.release()

    def set_retention(self, retention: timedelta) -> None:
        """Keep decisions for another time from now on (a reloaded configuration)."""
        with self._lock:
            self._retention = Retention(retention)

    def recall(self, scalers: Sequence[Autoscaler]) -> Mapping[str, History]:
        """What each remembers; an empty history for one never decided about. Raises StateError."""
        with self._lock:
            entries, steering = self._loaded(), self._steered()
            histories = {}
            for scaler in scalers:
                key = key_of(scaler.name, scaler.target)
                self._scalers[key] = scaler
                entry = entries.get(key)
                history = History() if entry is None else entry.history
                steered = steering.get(scaler.name)
                histories[scaler.name] = history if steered is None else replace(history, steering=steered)
            return histories

    def steer(self, name: str, steering: Steering) -> None:
        """Keep what operators ask of an autoscaler from its next cycle on; an empty one is taken back.

        Raises StateError.
        """
        with self._lock, self._transaction() as connection:
            known = self._steered()
            if steering == Steering():
                connection.execute(delete(schema.steering).where(schema.steering.c.name == name))
                known.pop(name, None)
            else:
                schema.upsert(connection, schema.steering, [{"name": name, "body": STEERING.dump(steering)}])
                known[name] = steering

    def steering(self) -> Mapping[str, Steering]:
        """As `Archive.steering`, from memory after the first call."""
        with self._lock:
            return dict(self._steered())

    def _steered(self) -> dict[str, Steering]:
        if self._steering is None:
            self._steering = dict(super().steering())
        return self._steering

    def intend(self, decisions: Sequence[Decision]) -> None:
        """Commit what is about to be written, in one transaction. Raises StateError: then nothing may be written."""
        live = [decision for decision in decisions if decision.change is not None and not decision.dry_run]
        if not live:
            return
        with self._lock:
            with self._transaction() as connection:
                intents = [
                    (entry, Intent(change.size, change.decided_from, decision.now))
                    for entry, decision in zip(self._owners(connection, live), live, strict=True)
                    if (change := decision.change) is not None
                ]
                schema.upsert(
                    connection,
                    schema.intent,
                    [
                        {
                            "autoscaler_id": entry.id,
                            "size": intent.size,
                            "decided_from": intent.decided_from,
                            "at": to_micros(intent.at),
                        }
                        for entry, intent in intents
                    ],
                )
            for entry, intent in intents:
                entry.history = replace(entry.history, unfinished=intent)

    def record(self, observed: Mapping[str, Observation], decisions: Sequence[Decision]) -> None:
        """Commit what came of a cycle that began with `recall`, in one transaction. Raises StateError."""
        if not decisions:
            return
        bodies = [body_of(observed[decision.name], decision) for decision in decisions]  # no other lane waits for it
        with self._lock:
            with self._transaction() as connection:
                owners = self._owners(connection, decisions)
                changes = [
                    change_of(entry, self._scalers[key_of(made.name, made.target)], made, body)
                    for entry, made, body in zip(owners, decisions, bodies, strict=True)
                ]
                _write(connection, changes)
                gone = self._retention.prune(connection, decisions[0].now, len(changes), self._idle())
            for change in changes:
                change.apply()
            self._forget(gone)
            if self._latest is not None:
                self._latest.update((decision.name, decision) for decision in decisions)

    def sightings(self, kind: type[SightingT]) -> KeptSightings[SightingT]:
        """The memory of instances' sightings; `kind` is the class of one, a frozen dataclass. Make it once."""
        return KeptSightings(kind, self._url, self._engine, self._lock)

    def latest(self) -> Mapping[str, Decision]:
        """As `Archive.latest`, from memory after the first call."""
        with self._lock:
            if self._latest is None:
                self._latest = dict(super().latest())
            return dict(self._latest)

    def _loaded(self) -> dict[Key, Entry]:
        if self._entries is None:
            with engines.explained(self._url), self._engine.begin() as connection:
                self._entries = load(connection)
        return self._entries

    @contextmanager
    def _transaction(self) -> Iterator[Connection]:
        try:
            with engines.explained(self._url), self._engine.begin() as connection:
                yield connection
        except BaseException:
            self._entries = self._latest = self._steering = None
            raise

    def _owners(self, connection: Connection, decisions: Sequence[Decision]) -> list[Entry]:
        """The entry of each decision's autoscaler, created where it has none yet."""
        entries = self._loaded()
        keys = [key_of(decision.name, decision.target) for decision in decisions]
        fresh = {key: decision for key, decision in zip(keys, decisions, strict=True) if key not in entries}
        if fresh:
            table = schema.autoscaler
            connection.execute(
                insert(table),
                [
                    {"name": name, "target": target, "at": to_micros(decision.now)}
                    for (name, target), decision in fresh.items()
                ],
            )
            for row in connection.execute(select(table.c.id, table.c.name, table.c.target, table.c.at)):
                if (row.name, row.target) in fresh:
                    entries[row.name, row.target] = Entry(row.id, row.at, History(at=from_micros(row.at)))
        return [entries[key] for key in keys]

    def _idle(self) -> Iterator[tuple[Key, Entry]]:
        """Entries that nobody has asked for since the start: they left the configuration, or were pointed elsewhere."""
        return (item for item in self._loaded().items() if item[0] not in self._scalers)

    def _forget(self, gone: Sequence[Key]) -> None:
        for key in gone:
            del self._loaded()[key]
        if gone:
            self._latest = None


_OWNER = update(schema.autoscaler).where(schema.autoscaler.c.id == bindparam("owner_id"))
_SHORTENED = (
    delete(schema.slot)
    .where(schema.slot.c.autoscaler_id == bindparam("owner_id"))
    .where(schema.slot.c.kind == bindparam("of_kind"), schema.slot.c.position >= bindparam("length"))
)
_SETTLED = delete(schema.intent).where(schema.intent.c.autoscaler_id == bindparam("owner_id"))


def _write(connection: Connection, changes: Sequence[Change]) -> None:
    """A handful of statements, however many decisions."""
    schema.upsert(connection, schema.spec, [row for change in changes for row in change.spec_rows])
    schema.upsert(connection, schema.slot, [row for change in changes for row in change.slots])
    if lengths := [row for change in changes for row in change.lengths]:
        connection.execute(_SHORTENED, lengths)
    schema.upsert(connection, schema.decision, [change.decision for change in changes])
    for columns in {tuple(change.owner) for change in changes}:  # one statement sets the same columns in all its rows
        connection.execute(_OWNER, [change.owner for change in changes if tuple(change.owner) == columns])
    if events := [row for change in changes for row in change.events]:
        connection.execute(insert(schema.event), events)
    if settled := [{"owner_id": change.entry.id} for change in changes if change.settles_intent]:
        connection.execute(_SETTLED, settled)
