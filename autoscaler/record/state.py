"""The durable state of one daemon: opened once, one ledger for each lane, an archive for readers."""

from collections.abc import Collection, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Final

from autoscaler.model import Autoscaler, Steering
from autoscaler.moment import Moment
from autoscaler.record import database as databases
from autoscaler.record import schema
from autoscaler.record.archive import Archive
from autoscaler.record.claim import Claim
from autoscaler.record.database import Database, FileLock
from autoscaler.record.entries import Key, Newest, key_of
from autoscaler.record.housekeeping import Housekeeper, Retention
from autoscaler.record.journal import Journal
from autoscaler.record.ledger import Ledger, OfConnection, Shared
from autoscaler.record.slots import SLOTS, next_epochs
from autoscaler.record.steering import SteeringCache, steer
from autoscaler.record.takeover import take_over, take_over_tables
from autoscaler.record.timeline import Timeline, read_anchor
from autoscaler.record.totals import KnownSizes
from autoscaler.record.values import Takeover


class State:
    """Made and closed by the daemon's main thread; `steer` and `archive` serve any."""

    def __init__(
        self,
        database: Database,
        hold: FileLock | Claim,
        retention: Retention,
        timeline: Timeline,
        closing: ExitStack,
        taken_over: Takeover | None = None,
    ) -> None:
        """As `open` makes it."""
        latest = dict[Key, Newest]()
        readers = databases.connect(database.url, read_only=True)
        closing.callback(readers.dispose)
        self._database = database
        self._hold = hold
        self._closing = closing
        self._connections: dict[str, OfConnection] = {}
        self._shared = Shared(database, readers, SteeringCache(), Housekeeper(retention), timeline, {}, latest)
        self.archive: Final = Archive(database.url, readers, latest)
        """For readers."""
        self.timeline: Final = timeline
        self.taken_over: Final = taken_over
        """What opening it took over from an older version; None: nothing."""

    @classmethod
    def open(cls, url: str | None, state_dir: Path, retention: Retention, moment: Moment | None = None) -> "State":
        """The state at `url`, or as SQLite in `state_dir`; created, or taken over from an older version.

        `moment`: now; None: by a clock that was never set since the state was used last.
        Raises StateError, also where another daemon uses it.
        """
        where = databases.locate(url, state_dir)
        taken: Takeover | None = None
        with ExitStack() as closing:
            hold: FileLock | Claim
            if where.get_backend_name() == "sqlite":
                hold = FileLock(where)
                closing.callback(hold.release)
                taken = take_over(where)
            database = Database(where)
            closing.callback(database.close)
            with database.writing() as connection:
                found = schema.version(connection)
                if found is None:
                    schema.create(connection)
                elif found == 1:  # on PostgreSQL: SQLite's was taken over into another file
                    taken = take_over_tables(connection)
                else:
                    schema.refuse_newer(found, databases.place(where))
                timeline = Timeline(read_anchor(connection))
            if not database.sqlite:
                hold = Claim(database)
                closing.callback(hold.release)
            if moment is not None:
                timeline.follow(moment, database.writing)
            return cls(database, hold, retention, timeline, closing.pop_all(), taken)

    def ledger(self, connection: str, slots: Collection[int] = range(SLOTS)) -> Ledger:
        """What the autoscalers of these slots of an adapter connection remember, in a new epoch of them.

        Older ledgers are stale now for what falls into these slots. Raises StateError.
        """
        with self._database.writing() as transaction:
            epochs = next_epochs(transaction, connection, slots)
        self._shared.newest.update({(connection, slot): epoch for slot, epoch in epochs.items()})
        known = self._connections.setdefault(connection, OfConnection(Journal(connection), KnownSizes(connection)))
        known.journal.forget()  # another daemon may have written pages since
        return Ledger(self._shared, connection, epochs, known)

    def follow(self, retention: Retention, scalers: Collection[Autoscaler]) -> None:
        """Keep this much from now on, and of these autoscalers for ever (a reloaded configuration)."""
        self._shared.housekeeper.retention = retention
        self._shared.housekeeper.configured = {key_of(scaler.name, scaler.target) for scaler in scalers}

    def steer(self, name: str, steering: Steering) -> None:
        """Keep what operators ask of an autoscaler from its next cycle on; an empty one is taken back.

        Raises StateError.
        """
        self.steer_all({name: steering})

    def steer_all(self, asked: Mapping[str, Steering]) -> None:
        """The same of several, by name, in one transaction: all of it is kept or nothing. Raises StateError."""
        steer(self._database, asked)

    def renew(self) -> None:
        """To be called every few seconds: keep other daemons off. Raises StateError, StaleLedger."""
        if isinstance(self._hold, Claim):
            self._hold.renew()

    def release(self) -> None:
        """For a process that ends now though a cycle hangs, which must not meet a closed state. Raises StateError.

        Another daemon may have the state at once: its epochs keep off what still comes back.
        """
        if isinstance(self._hold, Claim):  # the kernel lets go of a file's lock
            self._hold.release()

    def close(self) -> None:
        """Close every connection and let another daemon have the state. Raises StateError where that cannot be said."""
        self._closing.close()
