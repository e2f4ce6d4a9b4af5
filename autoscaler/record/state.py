"""The durable state of one daemon: opened once, with a ledger for each shard and an archive for readers."""

from collections.abc import Collection, Mapping, Sequence
from contextlib import ExitStack
from datetime import datetime
from pathlib import Path
from typing import Final

from sqlalchemy import URL, Connection

from autoscaler.clock import Clock, SystemClock
from autoscaler.model import Autoscaler, ManualControls, ShardName
from autoscaler.record import database as databases
from autoscaler.record import versions
from autoscaler.record.archive import Archive
from autoscaler.record.claims import Claims, Owner
from autoscaler.record.daemons import new_process, sessions_of
from autoscaler.record.database import ANSWER, Database, Readers, lock_file
from autoscaler.record.entries import Key
from autoscaler.record.fence import begin_generation, next_epoch
from autoscaler.record.housekeeping import Housekeeper, Retention
from autoscaler.record.lease import Lease, LeaseOptions, new_token
from autoscaler.record.ledger import Ledger
from autoscaler.record.ledger_context import LedgerContext
from autoscaler.record.locks import Lock, wait_for
from autoscaler.record.newest import Newest
from autoscaler.record.outbox import Outbox
from autoscaler.record.state_files import StateFiles
from autoscaler.record.steering import SteeringCache, SteeringChange, SteeringEvent, change_steering
from autoscaler.record.values import Cut
from autoscaler.target.scaled import AS_WRITTEN, Identify


class State:
    """Opened and closed by the main thread. Any thread can use `change_steering`, `archive` and `lease`."""

    def __init__(
        self,
        database: Database,
        retention: Retention,
        known: versions.Schema,
        lease: Lease | None,
        generation: str,
        closing: ExitStack,
    ) -> None:
        """Called by `open`. `generation`: on SQLite, where the lock of the file is the lease."""
        latest = dict[Key, Newest]()
        readers = Readers(database.url, guard=database.guard)
        self._schema = known
        closing.callback(readers.close)
        self._database = database
        self._generation = generation
        self._closing = closing
        housekeeper = Housekeeper(database, readers, retention, latest, lease)
        self.outbox: Final = Outbox(database, readers)
        """What the webhook is to be told."""
        newest = dict[ShardName, str]()
        self._context = LedgerContext(
            database, readers, SteeringCache(), housekeeper, newest, Claims(newest), lease, latest, self.outbox
        )
        self.archive: Final = Archive(readers, latest, lambda: housekeeper.configured)
        """For readers."""
        self.lease: Final = lease
        """The lease of the leader; None on SQLite, which has one daemon."""

    @classmethod
    def open(
        cls,
        url: str | None,
        state_dir: Path,
        retention: Retention,
        clock: Clock | None = None,
        options: LeaseOptions | None = None,
    ) -> "State":
        """Open the state at `url`, or SQLite in `state_dir`. Creates it if there is none.

        `clock`: the machine's, for the lease. `options`: of the lease on PostgreSQL; None: the defaults. The daemon
        takes it with `lease.turn`.
        Raises StateError, on SQLite also if another daemon uses the state.
        """
        where = databases.locate(url, state_dir)
        with ExitStack() as closing:
            if where.get_backend_name() != "sqlite":
                return cls._open_shared(where, retention, clock or SystemClock(), options or LeaseOptions(), closing)
            lock = lock_file(where)
            closing.callback(lock.release)
            database = Database(where)
            closing.callback(database.close)
            known = versions.Schema(databases.place(where))
            with database.writing() as connection:
                _create(connection, where)
                versions.migrate(connection, databases.place(where))
                begin_generation(connection, generation := new_token())
            files = StateFiles(where, lock)
            closing.callback(files.close)
            database.guard = files.require_same
            return cls(database, retention, known, None, generation, closing.pop_all())

    @classmethod
    def _open_shared(
        cls, where: URL, retention: Retention, clock: Clock, options: LeaseOptions, closing: ExitStack
    ) -> "State":
        process = new_process()
        database = Database(where, idle=options.duration, sessions=sessions_of(process))
        closing.callback(database.close)
        database.require_sessions()
        with database.writing() as connection:
            wait_for(connection, Lock.OPENING)
            _create(connection, where)
            known = versions.Schema(databases.place(where))
            known.look(connection)
        database.guard = known.require
        # what the lease reads counts by session, so no shard uses its own
        own = Database(
            where, idle=options.duration, sessions=sessions_of(process), answer=min(options.duration, ANSWER)
        )
        closing.callback(own.close)
        lease = Lease(own, clock, options, process, known)
        return cls(database, retention, known, lease, "", closing.pop_all())

    def ledger(self, connection: str, number: int = 1, of: int = 1) -> Ledger:
        """Return the ledger of a shard of an adapter connection, in a new epoch of the shard.

        Older ledgers of the shard, and of the connection's shards of another `of`, are stale now. Raises StateError,
        on PostgreSQL also if this daemon does not lead.
        """
        name, newest = ShardName(connection, number, of), self._context.newest
        if self.lease is not None:
            generation, epoch = self.lease.begin(name)
        else:
            generation = self._generation
            with self._database.writing() as transaction:
                epoch = next_epoch(transaction, name, generation)
        for stale in [each for each in newest.copy() if each.adapter == connection and each.of != of]:
            newest.pop(stale, None)  # a shard's thread may delete its own meanwhile
        self._context.claims.begin(Owner(name, epoch))
        return Ledger(self._context, name, generation, epoch)

    def follow(self, retention: Retention, scalers: Collection[Autoscaler], scaled: Identify = AS_WRITTEN) -> None:
        """Take up a configuration: keep this much, and never delete the memory of these autoscalers.

        `scaled` returns what they scale.
        """
        self._context.housekeeper.retention = retention
        self._context.housekeeper.identify = scaled
        self._context.housekeeper.scalers = scalers

    def tidy(self, now: datetime) -> None:
        """Do the housekeeping if it is due. Not for a shard's thread. Raises StateError."""
        self._context.housekeeper.tidy(now)

    def check(self) -> Sequence[Cut]:
        """Return what was deleted because of `state.maxSize`. Raises StateError if the state cannot be used.

        Returns nothing while the state is of an older version, whose daemon leads.
        """
        if not self._schema.is_older:
            return self.archive.cuts()
        self.archive.is_led()
        return ()

    def change_steering(
        self, change: SteeringChange, event: SteeringEvent, now: datetime
    ) -> Mapping[str, ManualControls]:
        """Change pauses and overrides, as `steering.change_steering` does it. Raises StateError."""
        return change_steering(self._database, change, event, now)

    def close(self) -> None:
        """Free the lease and close every connection. Raises StateError if the database does not answer.

        For a process whose cycles have all ended. If a cycle hangs, the state is left open and its lease ends.
        """
        with self._closing:
            if self.lease is not None:
                self.lease.resign()


def _create(connection: Connection, where: URL) -> None:
    """Create the tables if there are none. Raises StateError for a state that this version cannot use."""
    place = databases.place(where)
    if not versions.holds_state(connection, place):
        versions.create(connection, place)
