"""The durable state of one daemon: opened once, with a ledger for each shard and an archive for readers."""

from collections.abc import Collection, Mapping
from contextlib import ExitStack
from datetime import datetime
from pathlib import Path
from typing import Final

from sqlalchemy import URL, Connection, delete

from autoscaler.clock import Clock, SystemClock
from autoscaler.model import Autoscaler, ManualControls, ShardName
from autoscaler.record import database as databases
from autoscaler.record import schema, versions
from autoscaler.record.archive import Archive
from autoscaler.record.database import ANSWER, Database, FileLock, Readers
from autoscaler.record.entries import Key, Newest
from autoscaler.record.housekeeping import Housekeeper, Retention
from autoscaler.record.leases import LeaseOptions, Leases
from autoscaler.record.ledger import Ledger
from autoscaler.record.ledger_context import LedgerContext
from autoscaler.record.locks import Lock, wait_for
from autoscaler.record.member_rows import new_process, sessions_of
from autoscaler.record.outbox import Outbox
from autoscaler.record.shards import next_epoch, release
from autoscaler.record.state_files import StateFiles
from autoscaler.record.steering import SteeringCache, SteeringChange, SteeringEvent, change_steering


class State:
    """Opened and closed by the main thread. Any thread can use `change_steering`, `archive` and `leases`."""

    def __init__(
        self,
        database: Database,
        retention: Retention,
        leases: Leases | None,
        closing: ExitStack,
    ) -> None:
        """Called by `open`."""
        latest = dict[Key, Newest]()
        readers = Readers(database.url, guard=database.guard)
        closing.callback(readers.close)
        self._database = database
        self._closing = closing
        housekeeper = Housekeeper(database, readers, retention, latest)
        self.outbox: Final = Outbox(database, readers)
        """What the webhook is to be told."""
        self._context = LedgerContext(
            database, readers, SteeringCache(), housekeeper, {}, leases, [], latest, self.outbox
        )
        self.archive: Final = Archive(readers, latest, lambda: housekeeper.configured)
        """For readers."""
        self.leases: Final = leases
        """The shards that this daemon holds; None on SQLite, where one daemon has all."""

    @classmethod
    def open(
        cls,
        url: str | None,
        state_dir: Path,
        retention: Retention,
        clock: Clock | None = None,
        leases: LeaseOptions | None = None,
    ) -> "State":
        """Open the state at `url`, or SQLite in `state_dir`. Creates it if there is none.

        `clock`: the machine's, for the lease. `leases`: options of the leases on PostgreSQL; None: the defaults. The
        daemon becomes a member with `leases.renew`.
        Raises StateError, on SQLite also if another daemon uses the state.
        """
        where = databases.locate(url, state_dir)
        with ExitStack() as closing:
            if where.get_backend_name() != "sqlite":
                return cls._open_shared(where, retention, clock or SystemClock(), leases or LeaseOptions(), closing)
            lock = FileLock(where)
            closing.callback(lock.release)
            database = Database(where)
            closing.callback(database.close)
            with database.writing() as connection:
                _prepare(connection, where)
                connection.execute(delete(schema.serves))  # the daemon that made these claims has ended
            files = StateFiles(where, lock)
            closing.callback(files.close)
            database.guard = files.require_same
            return cls(database, retention, None, closing.pop_all())

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
            _prepare(connection, where)
        # what the leases read counts by session, so no shard uses theirs
        own = Database(
            where, idle=options.duration, sessions=sessions_of(process), answer=min(options.duration, ANSWER)
        )
        closing.callback(own.close)
        leases = Leases(own, clock, options, process)
        return cls(database, retention, leases, closing.pop_all())

    def ledger(self, connection: str, number: int = 1, of: int = 1) -> Ledger:
        """Return the ledger of a shard of an adapter connection, in a new epoch of the shard.

        Older ledgers of the shard, and of the connection's shards of another `of`, are stale now. Raises StateError,
        on PostgreSQL also if this daemon does not hold the shard.
        """
        name, newest = ShardName(connection, number, of), self._context.newest
        member = None
        if self.leases is not None:
            epoch, member = self.leases.begin(name)
        else:
            with self._database.writing() as transaction:
                epoch = next_epoch(transaction, name)
        for stale in [each for each in newest if each.adapter == connection and each.of != of]:
            del newest[stale]
        newest[name] = epoch
        return Ledger(self._context, name, epoch, member)

    def follow(self, retention: Retention, scalers: Collection[Autoscaler]) -> None:
        """Follow a configuration: keep this much, and never delete the memory of these autoscalers."""
        self._context.housekeeper.retention = retention
        self._context.housekeeper.scalers = scalers

    def tidy(self, now: datetime) -> None:
        """Delete the claims of ended shards; do the housekeeping if it is due. Not for a shard's thread.

        Raises StateError.
        """
        ended = self._context.ended
        if over := list(ended):
            with self._database.writing() as connection:
                release(connection, over)
            del ended[: len(over)]
        self._context.housekeeper.tidy(now)

    def change_steering(
        self, change: SteeringChange, event: SteeringEvent, now: datetime
    ) -> Mapping[str, ManualControls]:
        """Change pauses and overrides, as `steering.change_steering` does it. Raises StateError."""
        return change_steering(self._database, change, event, now)

    def close(self) -> None:
        """Leave the other members and close every connection. Raises StateError if the database does not answer.

        For a process whose cycles have all ended. If a cycle hangs, the state is left open and its lease ends.
        """
        with self._closing:
            if self.leases is not None:
                self.leases.leave()


def _prepare(connection: Connection, where: URL) -> None:
    """Create the tables if there are none. Raises StateError for a state of another version."""
    place = databases.place(where)
    if not versions.holds_state(connection, place):
        versions.create(connection, place)
