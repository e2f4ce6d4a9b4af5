"""What one shard's autoscalers remember: the record half of the cycle's `Ports`.

A ledger belongs to one epoch of its shard. Every commit first makes sure that this is still the newest
(`shards.fence`), so a cycle that comes back after its shard was superseded commits nothing.

Memory changes only after a commit. After any failed transaction (which may or may not have reached the disk) the state
is read again, and of each autoscaler's memory the newer one is taken: the state's, where the commit has reached it; the
ledger's own, where the database has lost commits (a standby that lagged was promoted). What was written to a target and
could not be recorded comes back as an unfinished intent, as it does after a kill -9.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from operator import itemgetter
from types import MappingProxyType
from typing import Any, Final

from msgspec.structs import replace
from sqlalchemy import Connection, delete, insert, select

from autoscaler.decide import announced
from autoscaler.errors import StaleLedger, StateError
from autoscaler.isolation import each, without
from autoscaler.model import (
    WITHOUT_LIMITS,
    Autoscaler,
    ConnectionLimits,
    Decision,
    History,
    Observed,
    ShardName,
    Sightings,
    Standing,
    Steering,
    TargetRef,
    shard_of,
)
from autoscaler.moment import Moment
from autoscaler.record import schema
from autoscaler.record.ages import UNKNOWN, taken
from autoscaler.record.binary import Binary
from autoscaler.record.claims import Claims
from autoscaler.record.database import state_errors
from autoscaler.record.entries import (
    SIGHTINGS,
    Entry,
    Intended,
    Key,
    Newest,
    key_of,
    load_entries,
    target_from,
    target_text,
    write_memory,
)
from autoscaler.record.journal import Journal
from autoscaler.record.leases import Renewal
from autoscaler.record.limits import Limits
from autoscaler.record.recording import Recording, write
from autoscaler.record.shards import fence
from autoscaler.record.shared import Histories, Shared
from autoscaler.record.sighted import Sighted, by_target
from autoscaler.record.times import to_micros
from autoscaler.target import AdapterValues

_NOTHING_ASKED: Final = Steering()
_ADAPTER_VALUES: Final = Binary[AdapterValues](dict[str, Any])


class Ledger:
    """Used by one shard's thread; `is_current` by any."""

    def __init__(self, shared: Shared, name: ShardName, epoch: int, member: str | None) -> None:
        """`epoch`: as `shards.next_epoch` gave it; on PostgreSQL to this `member`."""
        self.name: Final = name
        self.connection: Final = name.adapter
        self.member: Final = member
        self._shared = shared
        self._epoch = epoch
        self._journal = Journal(name)
        self._entries: dict[Key, Entry] | None = None
        """None: not read yet."""
        self._in_doubt = False
        """Whether a transaction failed since they were read, so that the state may hold something else."""
        self._damaged: Mapping[Key, str] = {}
        """Autoscalers whose entry cannot be read: what is wrong, and what to do."""
        self._forgotten: dict[str, str] = {}
        """Targets of which something is damaged that begins anew by itself: what it is. Said in one cycle."""
        self._sighted = Sighted(self._forgotten)
        self._moment = UNKNOWN
        """When the cycle under way began."""
        self._followed: frozenset[Key] | None = None
        """This shard's autoscalers; None: not known yet, every one that the state remembers is held."""
        self._unread: frozenset[Key] = frozenset()
        """Of those, the ones that came since the others were read."""
        self._scalers: Mapping[str, Autoscaler] = {}
        """Those of the cycle under way, by name."""
        self._recalled: Mapping[str, History] = {}
        """What the cycle under way decides from, by the autoscaler's name."""
        self._claims = Claims(shared, name, epoch, member)
        self._limits = Limits(name.adapter, shared.housekeeper)

    def is_current(self) -> bool:
        """Whether the shard is this ledger's still, as far as this process knows.

        No later epoch of it has begun here; on PostgreSQL this process holds it, and its lease is not over.
        """
        leases = self._shared.leases
        held = leases is None or leases.holds(self.name, self.member)
        return held and self._shared.newest.get(self.name) == self._epoch

    def end(self) -> None:
        """No cycle or call uses it any more: what it has claimed is free, as far as this process is concerned."""
        if self._shared.newest.get(self.name) == self._epoch:
            del self._shared.newest[self.name]

    def follow(
        self,
        scalers: Collection[Autoscaler],
        limits: ConnectionLimits = ConnectionLimits(),  # noqa: B008 - it is frozen
        targets: Mapping[str, TargetRef] = MappingProxyType({}),
    ) -> None:
        """These are this shard's autoscalers from now on: what is held of others goes (the state keeps it).

        `limits`: the whole connection's. `targets`: what is to be claimed, an autoscaler's name -> its target with the
        defaults of the connection written out.

        What comes back is read again: the state may have forgotten it meanwhile. What stays is not: a reload that adds
        a few of ten thousand costs the next cycle a few.
        """
        self._claims.follow(targets)
        self._limits.limits = limits
        self._limits.scalers = {key_of(scaler.name, scaler.target): scaler for scaler in scalers}
        before, self._followed = self._followed, frozenset(self._limits.scalers)
        if before is None:
            self._entries = None
        self._read_anew(frozenset() if before is None else self._followed - before)

    def follow_clock(self, moment: Moment) -> None:
        """A cycle begins: where the wall clock was set, what is recalled from now on keeps its age.

        Without a word of it the wall clock counts as never set.
        """
        self._moment = moment

    def claim(self) -> None:
        """Release what this shard serves no more, and claim what it serves. Raises StateError.

        An autoscaler of which another shard has a claim is left out of `recall`; the next call tries again.
        """
        if self._in_doubt:
            self._claims.doubt()
        self._claims.look(self._reading)
        if self._claims.complete:
            return
        try:
            with self._commit() as connection:
                kept = self._claims.change(connection)
        except StaleLedger:
            raise
        except StateError as error:
            self._claims.failed(str(error))
            return
        came = self._claims.committed(kept)
        self._read_anew(frozenset(key for key in self._followed or () if key[0] in came))

    def load(self) -> None:
        """Read what the autoscalers remember, where that is not known. Raises StateError.

        When a cycle begins: a row's age is taken when it is read, and what the cycle observes until then took time.
        """
        self._loaded()

    def recall(self, scalers: Sequence[Autoscaler]) -> Mapping[str, History]:
        """What each remembers; an empty history for one never decided about. Raises StateError.

        One whose record is damaged is not to be scaled as if it had none: looking it up raises its own StateError.
        """
        with self._reading() as connection:
            steering = self._shared.steering.current(connection)
        entries = self._loaded()
        histories, unheld = Histories(), self._claims.unheld
        self._scalers = {scaler.name: scaler for scaler in scalers}
        for scaler in scalers:
            key = key_of(scaler.name, scaler.target)
            asked = steering.get(scaler.name, _NOTHING_ASKED)
            problem = unheld.get(scaler.name) or self._forgotten.pop(key[1], None) or self._damaged.get(key)
            if problem is not None or isinstance(asked, StateError):
                histories.damaged[scaler.name] = problem or str(asked)
                continue
            entry = entries.setdefault(key, Entry())
            known = entry.follow(self._moment)
            entry.given = known if asked == known.steering else replace(known, steering=asked)
            histories[scaler.name] = entry.given
        self._recalled = histories
        return histories

    def sightings(self, targets: Collection[TargetRef]) -> Mapping[TargetRef, Sightings]:
        """What is known of the instances of these; one never seen is left out. Raises StateError."""
        return self._sighted.of(targets, self._moment, self._reading)

    def standing(self, now: datetime, busy: frozenset[TargetRef] = frozenset()) -> Standing:
        """How far the connection's limits are used. Raises StateError.

        `busy`: targets to which an earlier write is under way.
        """
        if self._limits.limits == WITHOUT_LIMITS.limits:
            return WITHOUT_LIMITS
        with self._reading() as connection:
            return self._limits.standing(connection, self._moment.at(now), busy)

    def intend(
        self, decisions: Sequence[Decision], busy: frozenset[TargetRef] = frozenset()
    ) -> Mapping[str, Exception]:
        """Commit what is about to be written, in one transaction. Raises StateError: then nothing may be written.

        `decisions`: all of a cycle; `busy`: targets to which a write is under way, whose intents stay as they are.
        On PostgreSQL the lease is renewed with it: the database confirms that nobody else serves these.
        Returns whose intent cannot be kept, and why: those may not be written.
        """
        self._limits.begin()
        broken = dict[str, Exception]()
        live = [made for made in decisions if not made.dry_run and made.change is not None and made.target not in busy]
        if not live:
            return broken
        with self._commit(confirming=True) as connection:
            owners = {made.name: owner for made, owner in zip(live, self._owners(connection, live), strict=True)}
            rows = dict(each(live, lambda one: (one.name, self._intended(owners[one.name], one)), broken))
            pairs = [(owners[made.name], made) for made in without(live, broken)]
            broken |= self._limits.intend(connection, pairs, decisions, self._recalled, self._then(decisions), busy)
            intended = [rows[made.name] for made in without(live, broken)]
            write_memory(connection, [(one.entry, one.row) for one in intended])
        for one in intended:
            one.apply()
        return broken

    def _intended(self, entry: Entry, made: Decision) -> Intended:
        """What is remembered while the decision's change is written. Raises OverflowError."""
        history = announced(self._scalers[made.name], entry.history, made)
        return Intended.of(entry, history, made.now, self._then([made]))

    def record(
        self, scalers: Mapping[str, Autoscaler], observed: Observed, decisions: Sequence[Decision]
    ) -> Mapping[str, Exception]:
        """Commit what came of a cycle that began with `recall`, in one transaction. Raises StateError.

        `scalers`: by the autoscaler's name. Returns whose decision cannot be recorded, and why: what those remember
        stays as it was, an intent unfinished.
        """
        broken = dict[str, Exception]()
        others = {scalers[name].target for name in self._claims.unheld.keys() & scalers.keys()}
        seen = {target_text(target): known for target, known in observed.sightings.items() if target not in others}
        if not decisions and not seen:
            return broken
        observations = observed.observations
        entries = self._entries or {}

        def prepare(made: Decision) -> Recording:
            entry = entries.get(key_of(made.name, made.target))
            return Recording.of(scalers[made.name], observations[made.name], made, entry)

        prepared = each(decisions, prepare, broken)
        moment = self._then(decisions)
        sighted = [
            {"target": text, **taken(moment, moment.now), "body": SIGHTINGS.dump(known)} for text, known in seen.items()
        ]
        with self._commit() as connection:
            pages = self._journal.pages(connection)
            owners = self._owners(connection, [one.decision for one in prepared])
            pairs = list(zip(owners, prepared, strict=True))
            recorded = write(connection, self.name, pages, pairs, moment)
            written = [(placed.entry, placed.recording.decision) for placed in recorded.placed]
            self._limits.settle(connection, written)
            schema.upsert(connection, schema.sighting, sorted(sighted, key=itemgetter("target")))
        self._journal.follow(pages)
        booted = moment.booted
        for placed in recorded.placed:
            placed.apply(booted)
            made = placed.recording.decision
            newest = Newest(placed.row.number, made)
            key = key_of(made.name, made.target)
            self._shared.latest[key] = newest
        self._sighted.committed(seen, moment)
        self._recalled = {}
        return {**broken, **recorded.broken}

    def adapter_memory(self) -> Mapping[TargetRef, AdapterValues]:
        """What this shard's adapter keeps, by target; without what is damaged. From any thread. Raises StateError.

        Nor of what another shard scales now: by the time that this one does, it would be out of date.
        """
        table, unheld = schema.adapter_memory, self._claims.unheld
        others = {target for name, target in self._followed or () if name in unheld}
        with self._reading() as connection:
            rows = connection.execute(select(table).where(table.c.connection == self.connection)).all()
        of_shard = [row for row in rows if shard_of(target_from(row.target), self.name.of).number == self.name.number]
        mine = [row for row in of_shard if row.target not in others]
        found = by_target(mine, _ADAPTER_VALUES, "what the adapter keeps of its target", self._forgotten)
        return {target_from(target): values for target, values in found.items()}

    def save_adapter_memory(self, target: TargetRef, values: AdapterValues | None) -> None:
        """Commit what the adapter keeps of a target from now on; None: nothing. From any thread. Raises StateError."""
        table, text = schema.adapter_memory, target_text(target)
        with self._shared.database.writing() as connection:
            fence(connection, self.name, self._epoch, self.member)
            if values is None:
                mine = (table.c.connection == self.connection) & (table.c.target == text)
                connection.execute(delete(table).where(mine))
            else:
                row = {"connection": self.connection, "target": text, "body": _ADAPTER_VALUES.dump(values)}
                schema.upsert(connection, table, [row])

    @contextmanager
    def _commit(self, *, confirming: bool = False) -> Iterator[Connection]:
        leases = self._shared.leases
        renewal: Renewal | None = None
        try:
            with self._shared.database.writing() as connection:
                if confirming and leases is not None:
                    renewal = leases.confirm(connection, self.member)
                fence(connection, self.name, self._epoch, self.member)
                yield connection
        except BaseException:
            self._in_doubt = True
            raise
        if renewal is not None and leases is not None:
            leases.confirmed(renewal)

    def _then(self, decisions: Sequence[Decision]) -> Moment:
        """When the cycle of these began."""
        moment = self._moment
        return moment if not decisions else moment.at(decisions[0].now)

    def _read_anew(self, new: frozenset[Key]) -> None:
        """Hold what the shard's autoscalers remember, but for these: another daemon may have scaled them meanwhile."""
        keys = self._followed or frozenset()
        self._unread = (self._unread & keys) | new
        if self._entries is not None:
            stay = keys - new
            self._entries = {key: entry for key, entry in self._entries.items() if key in stay}
        self._sighted.follow(frozenset(target for _, target in keys), frozenset(target for _, target in new))

    @contextmanager
    def _reading(self) -> Iterator[Connection]:
        with state_errors(self._shared.database.url), self._shared.readers.begin() as connection:
            yield connection

    def _loaded(self) -> dict[Key, Entry]:
        known = self._entries
        if known is None or self._in_doubt:
            with self._reading() as connection:
                entries, self._damaged = load_entries(
                    connection, self.connection, self._moment, self._followed, held=known
                )
            self._entries, self._in_doubt = entries, False
        elif self._unread:
            with self._reading() as connection:
                entries, damaged = load_entries(connection, self.connection, self._moment, self._unread)
            self._entries = known | entries
            before = {key: problem for key, problem in self._damaged.items() if key not in self._unread}
            self._damaged = {**damaged, **before}
        else:
            return known
        self._unread = frozenset()
        return self._entries

    def _owners(self, connection: Connection, decisions: Sequence[Decision]) -> list[Entry]:
        """The entry of each decision's autoscaler, created where it has none yet."""
        if self._entries is None or self._in_doubt:
            raise StaleLedger(f"what adapter {self.connection!r}'s autoscalers remember was not recalled in this cycle")
        keys = [key_of(made.name, made.target) for made in decisions]
        owners = [self._entries[key] for key in keys]
        fresh = {key: made for key, made, owner in zip(keys, decisions, owners, strict=True) if not owner.id}
        if fresh:
            table = schema.autoscaler
            connection.execute(
                insert(table),
                [
                    {
                        "name": name,
                        "target": target,
                        "connection": self.connection,
                        "first_at": to_micros(made.now),
                    }
                    for (name, target), made in fresh.items()
                ],
            )
            query = select(table.c.id, table.c.name, table.c.target)
            for row in connection.execute(query.where(table.c.connection == self.connection)):
                if (row.name, row.target) in fresh:
                    self._entries[row.name, row.target].id = row.id
        return owners
