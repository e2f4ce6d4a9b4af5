"""The memory of one shard's autoscalers: the record half of the cycle's `Ports`.

A ledger belongs to one epoch of its shard. Each commit first checks that the epoch is still the newest
(`shards.fence`), so a cycle that continues after its shard was superseded commits nothing.

The ledger changes only after a commit. After a failed transaction, which may or may not have been committed, the ledger
reads the state again and keeps the newer memory of each autoscaler: the state's if the commit arrived, its own if the
database lost commits (a lagging standby was promoted). A write to a target that could not be recorded is found as an
unfinished intent, as after a kill -9.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from types import MappingProxyType
from typing import Any, Final

from msgspec.structs import replace
from sqlalchemy import Connection, delete, insert, select

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
    shard_of,
)
from autoscaler.moment import Moment
from autoscaler.record import schema
from autoscaler.record.ages import UNKNOWN, read_database_time, time_columns
from autoscaler.record.binary import Binary
from autoscaler.record.claims import Claims
from autoscaler.record.entries import (
    SIGHTINGS,
    Entry,
    Key,
    Newest,
    PendingRow,
    key_of,
    load_entries,
    target_from,
    target_text,
    write_memory,
)
from autoscaler.record.leases import Renewal
from autoscaler.record.ledger_context import Histories, LedgerContext
from autoscaler.record.limits import Limits
from autoscaler.record.recording import Recording, write
from autoscaler.record.sighting_cache import SightingCache, by_target
from autoscaler.record.times import to_micros
from autoscaler.target import AdapterValues

_NOTHING_ASKED: Final = ManualControls()
_ADAPTER_VALUES: Final = Binary[AdapterValues](dict[str, Any])


class Ledger:
    """Used by one shard's thread; any thread can call `is_current`."""

    def __init__(self, context: LedgerContext, name: ShardName, epoch: int, member: str | None) -> None:
        """`epoch`: the result of `shards.next_epoch`. `member`: the shard's holder, on PostgreSQL."""
        self.name: Final = name
        self.connection: Final = name.adapter
        self.member: Final = member
        self._context = context
        self._epoch = epoch
        self._entries: dict[Key, Entry] = {}
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
        self._claims = Claims(context, name, epoch, member)
        self._limits = Limits(name.adapter, context.housekeeper)

    def is_current(self) -> bool:
        """Return whether this ledger may write, as far as this process knows.

        This process has begun no later epoch of the shard; on PostgreSQL it also holds the shard and its lease.
        """
        leases = self._context.leases
        held = leases is None or leases.holds(self.name, self.member)
        return held and self._context.newest.get(self.name) == self._epoch

    def end(self) -> None:
        """Free this ledger's claims. Called after its last cycle and call have ended, or hang for too long.

        Other shards of this process can have the claims at once, other processes after the next `State.tidy`.
        """
        if self._context.newest.get(self.name) == self._epoch:
            del self._context.newest[self.name]
            self._context.ended.append((self.name, self._epoch))

    def follow(
        self,
        scalers: Collection[Autoscaler],
        limits: ConnectionLimits = ConnectionLimits(),  # noqa: B008 - it is frozen
        targets: Mapping[str, TargetRef] = MappingProxyType({}),
    ) -> None:
        """Set the shard's autoscalers. What this process keeps of others is dropped and stays in the state.

        `limits`: those of the whole connection. `targets`: the targets to claim, autoscaler's name -> its target with
        the defaults of the connection written out.

        Only autoscalers that were not followed before are read by the next cycle.
        """
        self._claims.follow(targets)
        self._limits.limits = limits
        self._limits.scalers = {key_of(scaler.name, scaler.target): scaler for scaler in scalers}
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
        if self._in_doubt:
            self._claims.doubt()
        self._claims.look()
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
        added = self._claims.committed(kept)
        self._read_anew(frozenset(key for key in self._followed or () if key[0] in added))

    @property
    def unheld(self) -> Collection[str]:
        """The autoscalers that another shard has claimed."""
        return self._claims.unheld.keys()

    def recall(self, scalers: Sequence[Autoscaler]) -> Mapping[str, History]:
        """Return each autoscaler's history, empty if there was no decision yet. Raises StateError.

        Access to a damaged history raises its own StateError, because the autoscaler must not scale without it.
        """
        with self._context.readers.begin() as connection:
            steering = self._context.steering.current(connection)
        entries = self._loaded()
        histories, unheld = Histories(), self._claims.unheld
        self._scalers = {scaler.name: scaler for scaler in scalers}
        for scaler in scalers:
            key = key_of(scaler.name, scaler.target)
            asked = steering.get(scaler.name, _NOTHING_ASKED)
            problem = unheld.get(scaler.name) or self._reset.pop(key[1], None) or self._damaged.get(key)
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
        """Return when the instances of these targets were seen. Skips targets never seen. Raises StateError.

        Reads the memories that are not known. So a cycle calls this first, because it is the cycle's beginning from
        which a row's age is computed.
        """
        self._loaded()
        return self._sightings.of(targets, self._moment)

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
            write_memory(connection, [(one.entry, one.row) for one in intents])
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
        others = {scalers[name].target for name in self._claims.unheld.keys() & scalers.keys()}
        seen = {target_text(target): known for target, known in observed.sightings.items() if target not in others}
        if not decisions and not seen:
            return broken
        observations = observed.observations
        entries = self._entries

        def prepare(made: Decision) -> Recording:
            entry = entries[key_of(made.name, made.target)]
            return Recording.of(scalers[made.name], observations[made.name], made, entry)

        prepared = each(decisions, prepare, broken)
        bodies = [(text, SIGHTINGS.dump(known)) for text, known in sorted(seen.items())]
        with self._commit() as connection:
            moment = self._moment_of(decisions)
            owners = self._owners(connection, [one.decision for one in prepared])
            pairs = list(zip(owners, prepared, strict=True))
            recorded = write(connection, self.name, pairs, moment, notify=self._context.outbox.open)
            written = [(placed.entry, placed.recording.decision) for placed in recorded.placed]
            self._limits.settle(connection, written)
            when = time_columns(moment, moment.now)
            sighted = [{"target": text, **when, "body": body} for text, body in bodies]
            schema.upsert(connection, schema.sighting, sighted)
        for placed in recorded.placed:
            placed.apply(moment.booted)
            made = placed.recording.decision
            self._context.latest[key_of(made.name, made.target)] = Newest(placed.row.number, made)
        self._sightings.committed(seen, moment)
        self._recalled = {}
        return {**broken, **recorded.broken}

    def adapter_memory(self) -> Mapping[TargetRef, AdapterValues]:
        """Return what this shard's adapter saved, by target. From any thread. Raises StateError.

        Leaves out damaged values, and targets that another shard scales now, whose values will be out of date.
        """
        table, unheld = schema.adapter_memory, self._claims.unheld
        others = {target for name, target in self._followed or () if name in unheld}
        with self._context.readers.begin() as connection:
            rows = connection.execute(select(table).where(table.c.connection == self.connection)).all()
        of_shard = [row for row in rows if shard_of(target_from(row.target), self.name.of).number == self.name.number]
        mine = [row for row in of_shard if row.target not in others]
        found = by_target(mine, _ADAPTER_VALUES, "what the adapter saved of its target", self._reset)
        return {target_from(target): values for target, values in found.items()}

    def save_adapter_memory(self, target: TargetRef, values: AdapterValues | None) -> None:
        """Commit the adapter's values of a target; None deletes them. From any thread. Raises StateError."""
        table, text = schema.adapter_memory, target_text(target)
        with self._context.database.writing() as connection:
            self._context.fence(connection, self.name, self._epoch, self.member)
            if values is None:
                mine = (table.c.connection == self.connection) & (table.c.target == text)
                connection.execute(delete(table).where(mine))
            else:
                row = {"connection": self.connection, "target": text, "body": _ADAPTER_VALUES.dump(values)}
                schema.upsert(connection, table, [row])

    @contextmanager
    def _commit(self, *, confirming: bool = False) -> Iterator[Connection]:
        leases = self._context.leases
        renewal: Renewal | None = None
        try:
            with self._context.database.writing() as connection:
                if confirming and leases is not None:
                    renewal = leases.confirm(connection, self.member)
                elapsed = None if leases is None else leases.elapsed()
                database = self._context.fence(connection, self.name, self._epoch, self.member)
                if elapsed is not None and database is not None:
                    self._moment = self._moment.with_database(database, elapsed)
                yield connection
        except BaseException:
            self._in_doubt = True
            raise
        if renewal is not None and leases is not None:
            leases.confirmed(renewal)

    def _moment_of(self, decisions: Sequence[Decision]) -> Moment:
        """Return when the cycle of these decisions began."""
        moment = self._moment
        return moment if not decisions else moment.at(decisions[0].now)

    def _with_database(self, connection: Connection) -> Moment:
        """Return when the current cycle began, with PostgreSQL's clock then."""
        database, leases = read_database_time(connection), self._context.leases
        if database is None or leases is None:
            return self._moment
        return self._moment.with_database(database, leases.elapsed())

    def _read_anew(self, new: frozenset[Key]) -> None:
        """Drop the memories of these and of autoscalers not followed. Another daemon may have scaled the new ones."""
        keys = self._followed or frozenset()
        self._unread = new if self._unread is None else (self._unread & keys) | new
        stay = keys - new
        self._entries = {key: entry for key, entry in self._entries.items() if key in stay}
        self._sightings.keep({target for _, target in stay})

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
            targets = None if unread is None else {target for _, target in unread}
            self._reset |= self._sightings.read(connection, moment, targets)
        self._entries, self._in_doubt, self._unread = entries, False, frozenset()
        return entries

    def _owners(self, connection: Connection, decisions: Sequence[Decision]) -> list[Entry]:
        """Return the entry of each decision's autoscaler. Inserts autoscalers that the state does not have yet."""
        if self._in_doubt:
            raise StaleLedger(f"the memory of adapter {self.connection!r}'s autoscalers was not recalled in this cycle")
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
