"""The durable state, as one daemon has it: opened once, one ledger for each shard, an archive for readers."""

from collections.abc import Collection, Mapping
from contextlib import ExitStack
from datetime import datetime
from pathlib import Path
from typing import Final

from sqlalchemy import URL, Connection, delete

from autoscaler.clock import Clock, SystemClock
from autoscaler.model import Autoscaler, ShardName, Steering
from autoscaler.record import database as databases
from autoscaler.record import schema, versions
from autoscaler.record.archive import Archive
from autoscaler.record.database import Database, FileLock
from autoscaler.record.entries import Key, Newest, key_of
from autoscaler.record.housekeeping import Housekeeper, Retention
from autoscaler.record.leases import LeaseOptions, Leases
from autoscaler.record.ledger import Ledger
from autoscaler.record.locks import Lock, wait_for
from autoscaler.record.member_rows import new_process, sessions_of
from autoscaler.record.shards import next_epoch
from autoscaler.record.shared import Shared
from autoscaler.record.steering import SteeringCache, SteeringChange, SteeringEvent, change_steering, steer


class State:
    """Made and closed by the daemon's main thread; `steer`, `archive` and `leases` serve any."""

    def __init__(
        self,
        database: Database,
        retention: Retention,
        leases: Leases | None,
        closing: ExitStack,
    ) -> None:
        """As `open` makes it."""
        latest = dict[Key, Newest]()
        readers = databases.connect(database.url, read_only=True)
        closing.callback(readers.dispose)
        self._database = database
        self._closing = closing
        housekeeper = Housekeeper(database, readers, retention, latest)
        self._shared = Shared(database, readers, SteeringCache(), housekeeper, {}, leases, latest)
        self.archive: Final = Archive(database.url, readers, latest, leases)
        """For readers."""
        self.leases: Final = leases
        """What this daemon holds of a state that several share; None: it is SQLite's, and one daemon has it all."""

    @classmethod
    def open(
        cls,
        url: str | None,
        state_dir: Path,
        retention: Retention,
        clock: Clock | None = None,
        leases: LeaseOptions | None = None,
    ) -> "State":
        """The state at `url`, or as SQLite in `state_dir`; created where there is none.

        `clock`: the machine's, for the lease. `leases`: how several daemons share it, on PostgreSQL; None: by default.
        This one joins them with `leases.renew`.
        Raises StateError; on SQLite also where another daemon uses it.
        """
        where = databases.locate(url, state_dir)
        with ExitStack() as closing:
            if where.get_backend_name() != "sqlite":
                return cls._open_shared(where, retention, clock or SystemClock(), leases or LeaseOptions(), closing)
            closing.callback(FileLock(where).release)
            database = Database(where)
            closing.callback(database.close)
            with database.writing() as connection:
                _prepare(connection, where)
                connection.execute(delete(schema.serves))  # whoever had claimed something has ended
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
        leases = Leases(database, clock, options, process)
        return cls(database, retention, leases, closing.pop_all())

    def ledger(self, connection: str, number: int = 1, of: int = 1) -> Ledger:
        """What the autoscalers of a shard of an adapter connection remember, in a new epoch of the shard.

        Older ledgers of it are stale now, as are those of the connection's shards of another `of`. Raises StateError,
        on PostgreSQL also where this daemon does not hold it.
        """
        name, newest = ShardName(connection, number, of), self._shared.newest
        member = None
        if self.leases is not None:
            epoch, member = self.leases.begin(name)
        else:
            with self._database.writing() as transaction:
                epoch = next_epoch(transaction, name)
        for stale in [each for each in newest if each.adapter == connection and each.of != of]:
            del newest[stale]
        newest[name] = epoch
        return Ledger(self._shared, name, epoch, member)

    def follow(self, retention: Retention, scalers: Collection[Autoscaler]) -> None:
        """Keep this much from now on, and of these autoscalers for ever (a reloaded configuration)."""
        self._shared.housekeeper.retention = retention
        self._shared.housekeeper.configured = {key_of(scaler.name, scaler.target): scaler for scaler in scalers}

    def tidy(self, now: datetime) -> None:
        """Keep the state small, when it is time to: in a thread in which no cycle runs. Raises StateError."""
        self._shared.housekeeper.tidy(now)

    def steer(self, name: str, steering: Steering) -> None:
        """Keep what operators ask of an autoscaler from its next cycle on, in place of what they asked before.

        Raises StateError.
        """
        steer(self._database, {name: steering})

    def change_steering(self, change: SteeringChange, event: SteeringEvent, now: datetime) -> Mapping[str, Steering]:
        """Keep what operators ask of several, from what they have asked: all of it or nothing. Returns what changed.

        No other process changes anything meanwhile. `event`: what is recorded of each change, at `now`.
        Raises StateError.
        """
        return change_steering(self._database, change, event, now)

    def close(self) -> None:
        """Leave those that share it, and close every connection. Raises StateError where it cannot be said.

        For a process whose cycles have all ended. Where one hangs it is left open, and its lease runs out.
        """
        with self._closing:
            if self.leases is not None:
                self.leases.leave()


def _prepare(connection: Connection, where: URL) -> None:
    """Make the tables where there are none. Raises StateError for a state of another version."""
    place = databases.place(where)
    if not versions.holds_state(connection, place):
        versions.create(connection, place)
