"""Which of the daemons that share a state on PostgreSQL leads: one row, the lease.

The leader renews the lease by replacing a random token. A leader that has not renewed for `renew_deadline` stops by
itself and never renews again. A standby that has read the same token for the lease's whole duration takes the lease.
Both measure by their own machine's CLOCK_BOOTTIME; the difference between the two times allows for clock drift.

Each leadership is a new **generation**. Each commit of a shard checks that its generation is still the one of the fence
(`fence`), which a takeover changes in the transaction that takes the lease.
"""

import os
import socket
import threading
from dataclasses import dataclass
from datetime import timedelta
from itertools import count
from typing import Any, Final, NamedTuple
from uuid import uuid4

from sqlalchemy import Connection, select, text, update

from autoscaler.clock import Clock
from autoscaler.errors import StaleLedger, StateError
from autoscaler.model import ShardName
from autoscaler.record import schema
from autoscaler.record.daemons import NOW, be_present, end_sessions, others_present, process_of
from autoscaler.record.database import Database, place
from autoscaler.record.fence import begin_generation, keep_from_committing, next_epoch
from autoscaler.record.times import micros_of, to_micros
from autoscaler.record.versions import Schema, migrate
from autoscaler.version import VERSION

_TABLE: Final = schema.lease
_SEEN: Final = "lease"
"""Key of a session's `info` for the token that it read."""


@dataclass(frozen=True, slots=True)
class LeaseOptions:
    """Options with the names, defaults and meaning of Kubernetes' leader election (LeaderElectionConfig, client-go)."""

    duration: timedelta = timedelta(seconds=15)
    """Time without a renewal after which a standby takes the lease."""
    renew_deadline: timedelta = timedelta(seconds=10)
    """Time without a renewal after which the leader stops."""
    retry_period: timedelta = timedelta(seconds=2)
    """Interval of renewals, and of a standby's looks."""


class Renewal(NamedTuple):
    """A renewal in a transaction. It counts once the transaction is committed."""

    generation: str
    sent: timedelta
    """When it was sent, since the start of this machine. The renewed lease is measured from then."""


class _Leadership(NamedTuple):
    """This process leads. Replaced as a whole, so that a thread never reads the end of another generation's lease."""

    generation: str
    ends: timedelta
    """When the lease is over, since the start of this machine."""


class _Seen(NamedTuple):
    """A token that a session read."""

    token: str
    at: timedelta
    """When the session's first answer with it arrived, by CLOCK_BOOTTIME."""


class Lease:
    """One for each process. Any thread can use it.

    A thread that hung in the database can return after another thread took its place. Its older result is ignored.
    """

    def __init__(self, database: Database, clock: Clock, options: LeaseOptions, process: str, known: Schema) -> None:
        """Not held yet. `process`: the result of `daemons.new_process`, after which the sessions are named.

        `known`: the state's version, which whoever takes the lease makes this one.
        """
        self._schema: Final = known
        self.options: Final = options
        self._database: Final = database
        self._clock: Final = clock
        self._process: Final = process
        self._leaderships: Final = count(1)
        self._lock = threading.Lock()
        """Guards the attributes below. Never held during a call of the database."""
        self._leads: _Leadership | None = None
        self.leader: str | None = None
        """Host and process of the daemon that leads, as this one saw it last; None: that is not known."""
        self._leader_digest: str | None = None
        """Digest of that daemon's configuration."""
        self._waits_until = timedelta(0)
        """When this process competes for the lease again, since the start of this machine."""
        self._loaded: tuple[int, str] | None = None
        """When the configuration was loaded, and its digest."""

    @property
    def generation(self) -> str | None:
        """The id of this leadership; None if this process does not lead."""
        leads = self._leads
        return None if leads is None else leads.generation

    @property
    def differs(self) -> bool:
        """Whether another daemon leads and has loaded another configuration than this one."""
        theirs, ours = self._leader_digest, self._loaded
        return self._leads is None and theirs is not None and ours is not None and ours[1] != theirs

    def seconds_left(self) -> float:
        """Return the seconds until the lease is over unless it is renewed; at most 0 if it is not held.

        Measured from before the last renewal was sent, by CLOCK_BOOTTIME, which includes sleep.
        """
        return self._seconds_left(self._leads)

    def _seconds_left(self, leads: _Leadership | None) -> float:
        return 0.0 if leads is None else (leads.ends - self.elapsed()).total_seconds()

    def holds(self, generation: str) -> bool:
        """Return whether this process leads in this generation, and its lease is not over."""
        leads = self._leads
        return leads is not None and leads.generation == generation and self._seconds_left(leads) > 0

    def turn(self) -> None:
        """Renew the lease, or take it if no other daemon has it. Raises StateError.

        A lease that was not renewed for `renew_deadline`, or that another daemon has taken, is lost and never renewed.
        """
        with self._lock:
            if self.seconds_left() <= 0:
                self._leads = None
            generation = self.generation
        sent = self.elapsed()
        with self._database.writing() as connection:
            be_present(connection)
            if generation is None:
                taken = self._take(connection)
            elif renewed := _prolong(connection, generation):
                self._save_configuration(connection, generation)
        if generation is None:
            if taken is not None:
                self._lead(taken)
        elif renewed:
            self.confirmed(Renewal(generation, sent))
        else:
            self.give_up(generation)

    def _lead(self, taken: Renewal) -> None:
        """Lead from now on. Raises StateError if this process has resigned meanwhile and cannot free the lease."""
        self._schema.mark_migrated()  # the take-over has migrated the state
        with self._lock:
            resigned = self.elapsed() < self._waits_until
            if self._leads is None and not resigned:
                self._leads = _Leadership(taken.generation, taken.sent + self.options.renew_deadline)
        if resigned:
            with self._database.writing() as connection:
                free(connection, taken.generation)

    def others(self) -> list[str]:
        """Return host and process of each other daemon that is connected to the state. Raises StateError."""
        with self._database.writing() as connection:
            return others_present(connection, self._process)

    def follow(self, digest: str) -> None:
        """Note that this daemon has loaded a configuration with this digest now. The next renewal saves both."""
        self._loaded = to_micros(self._clock.now()), digest

    def begin(self, name: ShardName) -> tuple[str, str]:
        """Begin a new epoch of a shard. Returns the generation and the epoch. Older epochs can no longer commit.

        Raises StateError.
        """
        generation = self.generation
        if generation is None:
            raise StateError("this daemon does not lead; the leader serves every shard")
        with self._database.writing() as transaction:
            return generation, next_epoch(transaction, name, generation)

    def confirm(self, connection: Connection, generation: str) -> Renewal:
        """Renew the lease within a transaction, before its other locks. Raises StaleLedger if the lease is over."""
        sent = self.elapsed()
        if not self.holds(generation) or not _prolong(connection, generation):
            self.give_up(generation)
            raise StaleLedger(
                f"{place(self._database.url)}: this daemon has lost its lease; it writes nothing until it leads again"
            )
        return Renewal(generation, sent)

    def confirmed(self, renewal: Renewal) -> None:
        """Note that the renewal's transaction is committed."""
        with self._lock:
            if (leads := self._leads) is not None and leads.generation == renewal.generation:
                ends = max(leads.ends, renewal.sent + self.options.renew_deadline)
                self._leads = _Leadership(leads.generation, ends)

    def give_up(self, generation: str) -> None:
        """Lead no more in this generation. Does nothing if this process leads in another one now.

        The database keeps the lease, because a write may still be on its way until the lease ends.
        """
        with self._lock:
            if self.generation == generation:
                self._leads = None

    def resign(self, *, hanging: bool = False) -> None:
        """Lead no more, and free the lease, so that a standby can take it at once. Raises StateError.

        `hanging`: a call of a cycle hangs and may still write, so the lease ends by itself. This process competes again
        after twice the lease's duration.
        """
        with self._lock:  # so that a turn that takes the lease now sees both, and frees it again
            generation, self._leads = self.generation, None
            self._waits_until = self.elapsed() + 2 * self.options.duration
        if generation is not None and not hanging:
            with self._database.writing() as connection:
                free(connection, generation)

    def elapsed(self) -> timedelta:
        """Return the time since the start of this machine, including sleep."""
        return self._clock.moment().elapsed

    def _take(self, connection: Connection) -> Renewal | None:
        """Take the lease if it is free or over, and begin a generation. Returns when, or None.

        The sessions of the former leader are ended first: a process that was stopped in a transaction would keep its
        locks.
        """
        self._schema.look(connection)
        found = self._look(connection)
        if found is None or self.elapsed() < self._waits_until:
            return None
        if found.holder is not None and process_of(found.holder) != self._process:
            end_sessions(connection, process_of(found.holder))
        generation = f"{self._process}{next(self._leaderships):08x}"
        if not self._replace(connection, found.token, generation):
            return None
        keep_from_committing(connection)  # before the locks of a migration, in the order of a commit
        migrate(connection, place(self._database.url))
        begin_generation(connection, generation)
        sent = self.elapsed()  # after the migration, which may take longer than a lease: none sees it before the commit
        _prolong(connection, generation)
        return Renewal(generation, sent)

    def _look(self, connection: Connection) -> Any:
        """Return the lease's row if the lease is free or over; else None.

        It is over if this session has read the same token for the lease's duration, from the first answer with it until
        before this query. A new session starts over, because it can be with another server that has an old row. No wall
        clock is involved, nor the database's.
        """
        sent = self.elapsed()
        row = connection.execute(select(_TABLE)).one()
        known: _Seen | None = connection.info.get(_SEEN)
        if known is None or known.token != row.token:
            known = connection.info[_SEEN] = _Seen(row.token, self.elapsed())
        free = row.holder is None or sent - known.at >= timedelta(microseconds=row.duration)
        self.leader, self._leader_digest = (None, None) if free else (row.place, row.digest)
        return row if free else None

    def _replace(self, connection: Connection, token: str, generation: str) -> bool:
        """Write this process into the lease if it still has this token. Returns whether it had."""
        host, loaded = socket.gethostname(), self._loaded
        taken = connection.execute(
            text(
                f"UPDATE lease SET holder = :holder, token = :token, renewed = {NOW}, taken = {NOW}, "  # noqa: S608 - constants
                "duration = :duration, place = :place, host = :host, version = :version, loaded = :loaded, "
                "digest = :digest WHERE token = :before"
            ),
            {
                "holder": generation,
                "token": new_token(),
                "before": token,
                "duration": micros_of(self.options.duration),
                "place": f"{host}, pid {os.getpid()}",
                "host": host,
                "version": VERSION,
                "loaded": loaded and loaded[0],
                "digest": loaded and loaded[1],
            },
        )
        return taken.rowcount == 1

    def _save_configuration(self, connection: Connection, generation: str) -> None:
        if (loaded := self._loaded) is not None:
            mine = (_TABLE.c.holder == generation) & _TABLE.c.loaded.is_distinct_from(loaded[0])
            connection.execute(update(_TABLE).where(mine).values(loaded=loaded[0], digest=loaded[1]))


def new_token() -> str:
    """Return a random token for a renewal."""
    return uuid4().hex


def free(connection: Connection, generation: str | None = None) -> None:
    """Free the lease if it is of this generation; None: of any."""
    freed = update(_TABLE).values(holder=None, token=new_token())
    connection.execute(freed if generation is None else freed.where(_TABLE.c.holder == generation))


def _prolong(connection: Connection, generation: str) -> bool:
    """Renew the lease. Returns False if another daemon has taken it. Locks the row until the commit."""
    renewed = connection.execute(
        text(f"UPDATE lease SET token = :token, renewed = {NOW} WHERE holder = :holder"),  # noqa: S608 - constants
        {"holder": generation, "token": new_token()},
    )
    return renewed.rowcount > 0
