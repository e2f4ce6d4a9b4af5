"""The memory of one shard's autoscalers.

A ledger belongs to one epoch of its shard. Each commit first checks that the epoch is still the newest
(`fence`), so a cycle that continues after its shard was superseded commits nothing.

The ledger changes only after a commit. After a failed transaction, which may or may not have been committed, the ledger
reads the state again and keeps the newer memory of each autoscaler: the state's if the commit arrived, its own if the
database lost commits (a lagging standby was promoted). A write to a target that could not be recorded is found as an
unfinished intent, as after a kill -9.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence, Set
from contextlib import contextmanager
from datetime import datetime
from typing import Final

from msgspec.structs import replace
from sqlalchemy import Connection, insert

from autoscaler.decide import with_pending_write
from autoscaler.errors import StaleLedger, StateError
from autoscaler.isolation import each, without
from autoscaler.model import (
    WITHOUT_LIMITS,
    Autoscaler,
    ConnectionLimits,
    Decision,
    History,
    LimitUsage,
    ManualControls,
    Observed,
    ShardName,
    Sightings,
    TargetRef,
)
from autoscaler.moment import Moment
from autoscaler.record import schema
from autoscaler.record.adapter_values import read_values, save_values
from autoscaler.record.ages import UNKNOWN, read_database_time
from autoscaler.record.claims import Owner
from autoscaler.record.entries import Entry, Key, PendingRow, load_entries, write_memories
from autoscaler.record.lease import Renewal
from autoscaler.record.ledger_context import Histories, LedgerContext
from autoscaler.record.limits import Limits
from autoscaler.record.moved import find_moved, move
from autoscaler.record.newest import Newest
from autoscaler.record.recording import Recording, write
from autoscaler.record.sighting_cache import SightingCache, save_sightings
from autoscaler.record.targets import name_of
from autoscaler.record.times import to_micros
from autoscaler.record.writers import detach, leave_all
from autoscaler.target import AdapterValues
from autoscaler.target.scaled import AS_WRITTEN, Identify

_NOTHING_ASKED: Final = ManualControls()
_OWNER: Final = schema.autoscaler


class Ledger:
    """Used by one shard's thread; any thread can call `is_current`."""

    def __init__(self, context: LedgerContext, name: ShardName, generation: str, epoch: str) -> None:
        """`epoch`: the result of `fence.next_epoch` in this generation."""
        self.name: Final = name
        self.connection: Final = name.adapter
        self.generation: Final = generation
        self._context = context
        self._epoch = epoch
        self._entries: dict[Key, Entry] = {}
        self._left: list[Entry] = []
        """Autoscalers that are not followed any more, or are read anew, and whose memories may still name a writer."""
        self._in_doubt = True
        """Whether the entries are not read yet, or a transaction failed since they were read."""
        self._damaged: Mapping[Key, str] = {}
        """Autoscalers whose entry cannot be read, with the reason and the remedy."""
        self._reset: dict[str, str] = {}
        """Targets with damaged values that begin anew, with the reason. Reported in one cycle."""
        self._sightings = SightingCache()
        self._moment = UNKNOWN
        """When the current cycle began."""
        self._followed: frozenset[Key] | None = None
        """The shard's autoscalers; None: not known yet, and every autoscaler of the connection is read."""
        self._unread: frozenset[Key] | None = None
        """Those of them that are to be read by the next `load`; None: all."""
        self._scalers: Mapping[str, Autoscaler] = {}
        """Those of the current cycle, by name."""
        self._recalled: Mapping[str, History] = {}
        """The histories from which the current cycle decides, by autoscaler name."""
        self._identify: Identify = AS_WRITTEN
        """Returns what is scaled, by its target in the configuration."""
        self._keys: Mapping[TargetRef, Key] = {}
        """What it returns for the shard's targets."""
        self._wanted: Mapping[str, Key] = {}
        """Autoscaler's name -> what it scales."""
        self._held: Mapping[str, Key] = {}
        """Those of these that this shard has claimed."""
        self.unheld: Mapping[str, str] = {}
        """The autoscalers that another shard of this daemon has claimed, by name, with a sentence."""
        self._limits = Limits(name.adapter, context.housekeeper)

    def is_current(self) -> bool:
        """Return whether this ledger may write, as far as this process knows.

        This process has begun no later epoch of the shard; on PostgreSQL it also leads, in the same generation.
        """
        lease = self._context.lease
        leads = lease is None or lease.holds(self.generation)
        return leads and self._context.newest.get(self.name) == self._epoch

    def end(self) -> None:
        """Free this ledger's claims. Called after its last cycle and call have ended, or hang for too long."""
        if self._context.newest.get(self.name) == self._epoch:
            del self._context.newest[self.name]
        self._context.claims.release(self._owner)

    @property
    def _owner(self) -> Owner:
        return Owner(self.name, self._epoch)

    def follow(
        self,
        scalers: Collection[Autoscaler],
        limits: ConnectionLimits = ConnectionLimits(),  # noqa: B008 - it is frozen
        scaled: Identify | None = None,
    ) -> None:
        """Set the shard's autoscalers. What this process keeps of others is dropped and stays in the state.

        `limits`: those of the whole connection. `scaled` returns what a target of the configuration is; None: as
        before.

        Only autoscalers that were not followed before are read by the next cycle.
        """
        self._identify = scaled or self._identify
        self._keys = {scaler.target: self._identify(scaler.target) for scaler in scalers}
        self._wanted = {scaler.name: self._scaled(scaler.target) for scaler in scalers}
        self._limits.limits = limits
        self._limits.scalers = {self._scaled(scaler.target): scaler for scaler in scalers}
        before, self._followed = self._followed, frozenset(self._limits.scalers)
        for key in (before or frozenset()) - self._followed:
            self._context.latest.pop(key, None)
        self._read_anew(self._followed - (before or frozenset()))

    def follow_clock(self, moment: Moment) -> None:
        """Set when the current cycle begins, to keep ages right after steps of the wall clock."""
        self._moment = moment

    def database_time(self) -> datetime | None:
        """Return PostgreSQL's clock; None on SQLite. Raises StateError."""
        with self._context.readers.begin() as connection:
            return read_database_time(connection)

    def claim(self) -> None:
        """Claim what this shard serves, and release its other claims. Raises StateError.

        `recall` has no history of an autoscaler that another shard has claimed. The next call tries again.
        """
        if self._held == self._wanted and not self._left:
            return
        self._detach()
        unheld = self._context.claims.claim(self._owner, self._wanted)
        held = {name: key for name, key in self._wanted.items() if name not in unheld}
        gained = {key for name, key in held.items() if self._held.get(name) != key}
        self._take_moved(gained)
        self._read_anew((self._followed or frozenset()) & gained)
        self._held, self.unheld = held, unheld

    def _detach(self) -> None:
        """Give the memories that another shard may take now their own times. Raises StateError."""
        others = {key for name, key in self._held.items() if self._wanted.get(name) != key}
        self._left += [entry for key, entry in self._entries.items() if key in others]
        if any(entry.writer is not None for entry in self._left):
            with self._commit() as connection:
                detach(connection, self._left)
            # a server that loses this commit has rows that must not get their later times
            leave_all([*self._entries.values(), *self._left])
        self._left = []

    def _take_moved(self, gained: Set[Key]) -> None:
        """Take what autoscalers of this connection remembered at a former address. Raises StateError."""
        scalers = self._limits.scalers
        wanted = gained & scalers.keys()
        with self._context.readers.begin() as connection:
            moved = find_moved(connection, self.connection, wanted, {**self._context.housekeeper.configured, **scalers})
        if moved:
            with self._commit() as connection:
                move(connection, moved)

    def recall(self, scalers: Sequence[Autoscaler]) -> Mapping[str, History]:
        """Return each autoscaler's history, empty if there was no decision yet. Raises StateError.

        Access to a damaged history raises its own StateError, because the autoscaler must not scale without it.
        """
        with self._context.readers.begin() as connection:
            steering = self._context.steering.current(connection)
        entries = self._loaded()
        histories, unheld = Histories(), self.unheld
        self._scalers = {scaler.name: scaler for scaler in scalers}
        for scaler in scalers:
            key = self._scaled(scaler.target)
            asked = steering.get(scaler.name, _NOTHING_ASKED)
            problem = unheld.get(scaler.name) or self._reset.pop(key, None) or self._damaged.get(key)
            if problem is not None or isinstance(asked, StateError):
                histories.damaged[scaler.name] = problem or str(asked)
                continue
            entry = entries.setdefault(key, Entry())
            known = entry.shift(self._moment)
            entry.recalled = known if asked == known.manual else replace(known, manual=asked)
            histories[scaler.name] = entry.recalled
        self._recalled = histories
        return histories

    def sightings(self, targets: Collection[TargetRef]) -> Mapping[TargetRef, Sightings]:
        """Return when the daemon first saw the instances of each target, without targets never seen. Raises StateError.

        A cycle calls this first: it reads the rows that this ledger has not read yet, and computes their ages at the
        beginning of the cycle.
        """
        self._loaded()
        return self._sightings.of(targets, self._moment, self._scaled)

    def standing(self, now: datetime, busy: frozenset[TargetRef] = frozenset()) -> LimitUsage:
        """Return how far the connection's limits are used. Raises StateError.

        `busy`: targets with an earlier write under way.
        """
        if self._limits.limits == WITHOUT_LIMITS.limits:
            return WITHOUT_LIMITS
        with self._context.readers.begin() as connection:
            return self._limits.standing(connection, self._with_database(connection).at(now), busy)

    def intend(
        self, decisions: Sequence[Decision], busy: frozenset[TargetRef] = frozenset()
    ) -> Mapping[str, Exception]:
        """Commit what is about to be written, in one transaction. Raises StateError; then nothing may be written.

        `decisions`: all of a cycle. `busy`: targets with a write under way, whose intents stay as they are. On
        PostgreSQL the transaction renews the lease, so that the database confirms it.
        Returns the autoscalers whose intent could not be committed, with the reason. They may not be written.
        """
        self._limits.begin()
        broken = dict[str, Exception]()
        live = [made for made in decisions if not made.dry_run and made.change is not None and made.target not in busy]
        if not live:
            return broken
        with self._commit(confirming=True) as connection:
            owners = {made.name: owner for made, owner in zip(live, self._owners(connection, live), strict=True)}
            rows = dict(each(live, lambda one: (one.name, self._intent(owners[one.name], one)), broken))
            pairs = [(owners[made.name], made) for made in without(live, broken)]
            moment = self._moment_of(decisions)
            broken |= self._limits.intend(connection, pairs, decisions, self._recalled, moment, busy)
            intents = [rows[made.name] for made in without(live, broken)]
            write_memories(connection, [(one.entry, one.row) for one in intents])
        for one in intents:
            one.apply()
        return broken

    def _intent(self, entry: Entry, made: Decision) -> PendingRow:
        """Return the memory with the decision's intent. Raises OverflowError."""
        history = with_pending_write(self._scalers[made.name], entry.history, made)
        return PendingRow.of(entry, history, made.now, self._moment_of([made]))

    def record(
        self, scalers: Mapping[str, Autoscaler], observed: Observed, decisions: Sequence[Decision]
    ) -> Mapping[str, Exception]:
        """Commit the result of a cycle that began with `recall`, in one transaction. Raises StateError.

        `scalers`: by autoscaler name. Returns the autoscalers whose decision could not be recorded, with the reason.
        Their memory stays as it was, and an intent stays unfinished.
        """
        broken = dict[str, Exception]()
        others = {scalers[name].target for name in self.unheld.keys() & scalers.keys()}
        seen = {self._scaled(target): known for target, known in observed.sightings.items() if target not in others}
        if not decisions and not seen:
            return broken
        observations = observed.observations
        entries = self._entries

        def prepare(made: Decision) -> Recording:
            entry = entries[self._scaled(made.target)]
            return Recording.of(scalers[made.name], observations[made.name], made, entry)

        prepared = each(decisions, prepare, broken)
        with self._commit() as connection:
            moment = self._moment_of(decisions)
            owners = self._owners(connection, [one.decision for one in prepared])
            pairs = list(zip(owners, prepared, strict=True))
            recorded = write(connection, pairs, moment, notify=self._context.outbox.open)
            written = [(placed.entry, placed.recording.decision) for placed in recorded.placed]
            self._limits.settle(connection, written)
            save_sightings(connection, seen, moment)
        for placed in recorded.placed:
            placed.apply(moment.booted)
            made = placed.recording.decision
            self._context.latest[self._scaled(made.target)] = Newest(placed.row.number, made)
        self._sightings.committed(seen, moment)
        self._recalled = {}
        return {**broken, **recorded.broken}

    def adapter_memory(self) -> Mapping[TargetRef, AdapterValues]:
        """Return what this shard's adapter saved, by target. From any thread. Raises StateError.

        Leaves out damaged values, and targets that another shard scales now, whose values will be out of date.
        """
        unheld, scalers = self.unheld, self._limits.scalers
        mine = {key: scaler.target for key, scaler in scalers.items() if scaler.name not in unheld}
        with self._context.readers.begin() as connection:
            return read_values(connection, mine, self._reset)

    def save_adapter_memory(self, target: TargetRef, values: AdapterValues | None) -> None:
        """Commit the adapter's values of a target; None deletes them. From any thread. Raises StateError."""
        with self._context.database.writing() as connection:
            self._context.fence(connection, self.name, self.generation, self._epoch)
            save_values(connection, self._scaled(target), values)

    @contextmanager
    def _commit(self, *, confirming: bool = False) -> Iterator[Connection]:
        lease = self._context.lease
        renewal: Renewal | None = None
        try:
            with self._context.database.writing() as connection:
                if confirming and lease is not None:
                    renewal = lease.confirm(connection, self.generation)
                elapsed = None if lease is None else lease.elapsed()
                database = self._context.fence(connection, self.name, self.generation, self._epoch)
                if elapsed is not None and database is not None:
                    self._moment = self._moment.with_database(database, elapsed)
                yield connection
        except BaseException:
            self._in_doubt = True
            leave_all([*self._entries.values(), *self._left])
            raise
        if renewal is not None and lease is not None:
            lease.confirmed(renewal)

    def _moment_of(self, decisions: Sequence[Decision]) -> Moment:
        """Return when the cycle of these decisions began."""
        moment = self._moment
        return moment if not decisions else moment.at(decisions[0].now)

    def _with_database(self, connection: Connection) -> Moment:
        """Return when the current cycle began, with PostgreSQL's clock then."""
        database, lease = read_database_time(connection), self._context.lease
        if database is None or lease is None:
            return self._moment
        return self._moment.with_database(database, lease.elapsed())

    def _scaled(self, target: TargetRef) -> Key:
        """Return what is scaled. A target that is not the shard's any more is identified anew."""
        known = self._keys.get(target)
        return self._identify(target) if known is None else known

    def _read_anew(self, new: frozenset[Key]) -> None:
        """Drop the memories of these autoscalers, which another daemon may have scaled, and of those not served."""
        keys = self._followed or frozenset()
        self._unread = new if self._unread is None else (self._unread & keys) | new
        stay = keys - new
        self._left += [entry for key, entry in self._entries.items() if key not in stay]
        self._entries = {key: entry for key, entry in self._entries.items() if key in stay}
        self._sightings.keep(stay)

    def _loaded(self) -> dict[Key, Entry]:
        known, unread = self._entries, self._unread
        if not self._in_doubt and not unread:
            return known
        with self._context.readers.begin() as connection:
            moment = self._with_database(connection)
            if self._in_doubt or unread is None:
                entries, self._damaged = load_entries(connection, self.connection, moment, self._followed, held=known)
            else:
                read, damaged = load_entries(connection, self.connection, moment, unread)
                before = {key: problem for key, problem in self._damaged.items() if key not in unread}
                entries, self._damaged = known | read, {**damaged, **before}
            self._reset |= self._sightings.read(connection, moment, unread)
        # a damaged memory is read again in each cycle: `autoscaler forget` may have deleted it
        self._entries, self._in_doubt, self._unread = entries, False, frozenset(self._damaged)
        return entries

    def _owners(self, connection: Connection, decisions: Sequence[Decision]) -> list[Entry]:
        """Return the entry of each decision's autoscaler. Inserts autoscalers that the state does not have yet."""
        if self._in_doubt:
            raise StaleLedger(f"the memory of adapter {self.connection!r}'s autoscalers was not recalled in this cycle")
        owners = [self._entries[self._scaled(made.target)] for made in decisions]
        placed = list(zip(decisions, owners, strict=True))
        if fresh := [made for made, owner in placed if not owner.id]:
            rows = [{"scaled": self._scaled(made.target), **self._named(made)} for made in fresh]
            new = insert(_OWNER).values(first_at=to_micros(fresh[0].now)).returning(_OWNER.c.id, _OWNER.c.scaled)
            for row in connection.execute(new, rows):
                self._entries[row.scaled].id = row.id
        renamed = [(made, owner) for made, owner in placed if (owner.name, owner.target) != name_of(made)]
        names = [{"id": owner.id, **self._named(made)} for made, owner in renamed if owner.name]
        schema.update_known(connection, _OWNER, ("id",), names)
        for made, owner in renamed:
            owner.name, owner.target = name_of(made)
        return owners

    def _named(self, made: Decision) -> dict[str, str]:
        name, target = name_of(made)
        return {"name": name, "target": target, "connection": self.connection}
