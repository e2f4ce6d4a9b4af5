"""What one lane's autoscalers remember: the record half of the cycle's `Ports`.

A ledger belongs to one lane and to one epoch of the slots that its targets fall into. Every commit first makes sure
that its epochs are still the newest (`slots.fence`), so a cycle that comes back after its lane was superseded commits
nothing.

Memory and disk stay equal: memory changes only after a commit, and after any failed transaction (which may or may not
have reached the disk) it is thrown away and read again. What was written to a target and could not be recorded then
comes back as an unfinished intent, as it does after a kill -9.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import partial
from typing import Any, Final

from sqlalchemy import Connection, Engine, delete, insert, select

from autoscaler.decide import intent_of
from autoscaler.errors import StaleLedger
from autoscaler.model import Autoscaler, Decision, History, Observed, Sightings, Steering, TargetRef
from autoscaler.moment import Moment
from autoscaler.record import schema
from autoscaler.record.binary import Binary
from autoscaler.record.database import Database, state_errors
from autoscaler.record.entries import (
    SIGHTINGS,
    Entry,
    Key,
    Newest,
    intent_row,
    key_of,
    load_entries,
    target_from,
    target_text,
)
from autoscaler.record.housekeeping import Housekeeper
from autoscaler.record.journal import Pages, read_pages
from autoscaler.record.recording import Recording, write
from autoscaler.record.slots import fence, slot_of
from autoscaler.record.steering import SteeringCache
from autoscaler.record.timeline import Timeline
from autoscaler.record.times import to_micros
from autoscaler.target import AdapterValues

_ADAPTER_VALUES: Final = Binary[AdapterValues](dict[str, Any])


@dataclass(frozen=True, slots=True)
class Shared:
    """What all ledgers of a process share."""

    database: Database
    readers: Engine
    steering: SteeringCache
    housekeeper: Housekeeper
    timeline: Timeline
    newest: dict[tuple[str, int], int]
    """Adapter connection and slot -> the newest epoch that this process began."""
    latest: dict[Key, Newest]
    """What was committed last about each autoscaler, for readers: they never wait for a lane."""


class Ledger:
    """Used by one lane's thread; `is_current` by any."""

    def __init__(self, shared: Shared, connection: str, epochs: Mapping[int, int]) -> None:
        """Of the adapter `connection`; `epochs`: slot -> epoch, as `slots.next_epochs` gave them."""
        self.connection: Final = connection
        self._shared = shared
        self._epochs = epochs
        self._entries: dict[Key, Entry] | None = None
        """None: not read yet, or in doubt since a transaction failed."""
        self._sightings: dict[str, tuple[int, Sightings]] | None = None
        """By target, each with the lead of its times; None: as above."""
        self._lead = shared.timeline.lead
        """Of the times of the cycle under way."""
        self._pages: dict[tuple[int, int], Pages] | None = None
        """What there is of the journal, by period and chunk; None: as above."""
        self._followed: frozenset[Key] | None = None
        """This lane's autoscalers; None: not known yet, every one that the state remembers is held."""
        self._fresh: Mapping[Key, History] = {}
        """What the cycle under way decides from, of autoscalers that the state does not know yet."""

    def is_current(self, target: TargetRef) -> bool:
        """Whether no later epoch of the target's slot has begun in this process."""
        slot = slot_of(target)
        return self._shared.newest.get((self.connection, slot)) == self._epochs.get(slot)

    def follow(self, scalers: Collection[Autoscaler]) -> None:
        """These are this lane's autoscalers from now on: what is held of others goes (the state keeps it).

        What comes back is read again: the state may have forgotten it meanwhile.
        """
        before, keys = self._followed, frozenset(key_of(scaler.name, scaler.target) for scaler in scalers)
        self._followed = keys
        if before is None or not keys <= before:
            self._entries = self._sightings = None
            return
        if self._entries is not None:
            self._entries = {key: entry for key, entry in self._entries.items() if key in keys}
        if self._sightings is not None:
            targets = {target for _, target in keys}
            self._sightings = {target: seen for target, seen in self._sightings.items() if target in targets}

    def follow_clock(self, moment: Moment) -> None:
        """A cycle begins: where the wall clock was set, what is recalled from now on keeps its age. Raises StateError.

        Without a word of it the wall clock counts as never set.
        """
        self._lead = self._shared.timeline.follow(moment, partial(self._commit, self._epochs.keys()))

    def recall(self, scalers: Sequence[Autoscaler]) -> Mapping[str, History]:
        """What each remembers; an empty history for one never decided about. Raises StateError."""
        with self._reading() as connection:
            steering = self._shared.steering.current(connection)
        entries = self._loaded()
        histories = {}
        fresh = dict[Key, History]()
        for scaler in scalers:
            key = key_of(scaler.name, scaler.target)
            entry = entries.get(key)
            known = History() if entry is None else entry.follow(self._lead)
            asked = steering.get(scaler.name, Steering())
            history = known if asked == known.steering else replace(known, steering=asked)
            if entry is None:
                fresh[key] = history
            else:
                entry.given = history
            histories[scaler.name] = history
        self._fresh = fresh
        return histories

    def sightings(self, targets: Collection[TargetRef]) -> Mapping[TargetRef, Sightings]:
        """What is known of the instances of these; one never seen is left out. Raises StateError."""
        if self._sightings is None:
            with self._reading() as connection:
                rows = connection.execute(select(schema.sighting)).all()
            followed = self._followed
            mine = {row.target for row in rows} if followed is None else {target for _, target in followed}
            self._sightings = {row.target: (row.lead, SIGHTINGS.load(row.body)) for row in rows if row.target in mine}
        known, lead = self._sightings, self._lead
        found = dict[TargetRef, Sightings]()
        for target in targets:
            text = target_text(target)
            if text in known:
                before, seen = known[text]
                if before != lead:
                    step = timedelta(microseconds=lead - before)
                    seen = {name: sighting.moved(step) for name, sighting in seen.items()}
                    known[text] = lead, seen
                found[target] = seen
        return found

    def intend(self, decisions: Sequence[Decision]) -> None:
        """Commit what is about to be written, in one transaction. Raises StateError: then nothing may be written."""
        live = [(made, intent) for made in decisions if (intent := intent_of(made)) is not None and not made.dry_run]
        if not live:
            return
        with self._commit({slot_of(made.target) for made, _ in live}) as connection:
            owners = self._owners(connection, [made for made, _ in live])
            rows = [intent_row(entry, intent, self._lead) for entry, (_, intent) in zip(owners, live, strict=True)]
            schema.upsert(connection, schema.intent, rows)
        for entry, (_, intent) in zip(owners, live, strict=True):
            entry.history = replace(entry.history, unfinished=intent)
            entry.intent = intent

    def record(self, scalers: Mapping[str, Autoscaler], observed: Observed, decisions: Sequence[Decision]) -> None:
        """Commit what came of a cycle that began with `recall`, in one transaction. Raises StateError.

        `scalers`: by the autoscaler's name.
        """
        seen = {target_text(target): known for target, known in observed.sightings.items()}
        if not decisions and not seen:
            return
        observations = observed.observations
        prepared = [Recording.of(scalers[made.name], observations[made.name], made) for made in decisions]
        slots = {slot_of(made.target) for made in decisions} | {slot_of(target) for target in observed.sightings}
        gone: Sequence[Key] = ()
        with self._commit(slots) as connection:
            owners = self._owners(connection, decisions)
            pages = self._pages_of_journal(connection)
            carried = write(connection, self.connection, pages, list(zip(owners, prepared, strict=True)), self._lead)
            rows = [{"target": text, "body": SIGHTINGS.dump(known), "lead": self._lead} for text, known in seen.items()]
            schema.upsert(connection, schema.sighting, rows)
            if decisions:
                gone = self._shared.housekeeper.tidy(connection, decisions[0].now, self._lead)
        self._pages = pages
        for entry in (self._entries or {}).values() if carried else ():
            if entry.id in carried:
                entry.base = None  # its whole row stands in another page now: the next one is whole again
        for entry, recording in zip(owners, prepared, strict=True):
            recording.apply(entry, self._lead)
            made = recording.decision
            newest = Newest(to_micros(made.now) - self._lead, entry.number, made)
            self._shared.latest[key_of(made.name, made.target)] = newest
        for key in gone:
            self._shared.latest.pop(key, None)
        if self._sightings is not None:
            self._sightings.update({text: (self._lead, known) for text, known in seen.items()})

    def adapter_memory(self) -> Mapping[TargetRef, AdapterValues]:
        """What the adapter keeps, by target. From any thread. Raises StateError."""
        table = schema.adapter_memory
        with self._reading() as connection:
            rows = connection.execute(select(table).where(table.c.connection == self.connection)).all()
        return {target_from(row.target): _ADAPTER_VALUES.load(row.body) for row in rows}

    def save_adapter_memory(self, target: TargetRef, values: AdapterValues | None) -> None:
        """Commit what the adapter keeps of a target from now on; None: nothing. From any thread. Raises StateError."""
        table, text = schema.adapter_memory, target_text(target)
        slot = slot_of(target)
        with self._shared.database.writing() as connection:
            fence(connection, self.connection, {slot: self._epochs.get(slot, -1)})
            if values is None:
                mine = (table.c.connection == self.connection) & (table.c.target == text)
                connection.execute(delete(table).where(mine))
            else:
                row = {"connection": self.connection, "target": text, "body": _ADAPTER_VALUES.dump(values)}
                schema.upsert(connection, table, [row])

    @contextmanager
    def _commit(self, slots: Collection[int]) -> Iterator[Connection]:
        try:
            with self._shared.database.writing() as connection:
                fence(connection, self.connection, {slot: self._epochs.get(slot, -1) for slot in slots})
                yield connection
        except BaseException:
            self._entries = self._sightings = self._pages = None
            raise

    @contextmanager
    def _reading(self) -> Iterator[Connection]:
        with state_errors(self._shared.database.url), self._shared.readers.begin() as connection:
            yield connection

    def _loaded(self) -> dict[Key, Entry]:
        if self._entries is None:
            with self._reading() as connection:
                entries = load_entries(connection, self.connection, self._epochs)
            followed = self._followed
            self._entries = {key: each for key, each in entries.items() if followed is None or key in followed}
        return self._entries

    def _pages_of_journal(self, connection: Connection) -> dict[tuple[int, int], Pages]:
        """A copy: what is written counts only once it is committed."""
        return read_pages(connection, self.connection) if self._pages is None else dict(self._pages)

    def _owners(self, connection: Connection, decisions: Sequence[Decision]) -> list[Entry]:
        """The entry of each decision's autoscaler, created where it has none yet."""
        if self._entries is None:
            raise StaleLedger(f"what adapter {self.connection!r}'s autoscalers remember was not recalled in this cycle")
        entries = self._entries
        keys = [key_of(made.name, made.target) for made in decisions]
        fresh = {key: made for key, made in zip(keys, decisions, strict=True) if key not in entries}
        if fresh:
            table = schema.autoscaler
            connection.execute(
                insert(table),
                [
                    {
                        "name": name,
                        "target": target,
                        "connection": self.connection,
                        "slot": slot_of(made.target),
                        "first_at": to_micros(made.now),
                    }
                    for (name, target), made in fresh.items()
                ],
            )
            query = select(table.c.id, table.c.name, table.c.target, table.c.slot)
            for row in connection.execute(query.where(table.c.connection == self.connection)):
                if (row.name, row.target) in fresh:
                    key = row.name, row.target
                    entries[key] = Entry(row.id, row.slot, given=self._fresh.get(key, History()), lead=self._lead)
        return [entries[key] for key in keys]
