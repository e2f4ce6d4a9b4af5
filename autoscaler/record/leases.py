"""Decides on PostgreSQL which of the daemons that share a state serves which shards.

Each daemon is a member while it renews its lease, by replacing a random token in its row. A member that has not renewed
for `renew_deadline` stops by itself and never renews again. Another member that has read the same token for the lease's
whole duration ends that lease and takes its shards. Both measure by their own machine's CLOCK_BOOTTIME; the difference
between the two times allows for clock drift. Each commit of a member checks that it still holds its shard
(`shards.fence`).
"""

import os
import socket
import threading
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import timedelta
from hashlib import sha256
from itertools import count
from typing import Any, Final, NamedTuple

from sqlalchemy import Connection, delete, select, text, update

from autoscaler.clock import Clock
from autoscaler.errors import StaleLedger, StateError
from autoscaler.model import Autoscaler, ShardName
from autoscaler.record import schema
from autoscaler.record.database import Database, place
from autoscaler.record.entries import SPEC, target_text
from autoscaler.record.locks import Lock, is_free, wait_for
from autoscaler.record.member_rows import (
    NOW,
    dead_members,
    end_sessions,
    evict,
    is_alive,
    needs_of_members,
    needs_of_the_first,
    new_member,
    new_token,
    prolong,
    remove,
    save_needs,
)
from autoscaler.record.shards import give_back, next_epoch, read_holders, take
from autoscaler.record.sharing import share_out
from autoscaler.record.times import micros_of, to_micros
from autoscaler.version import VERSION


@dataclass(frozen=True, slots=True)
class LeaseOptions:
    """Options with the names, defaults and meaning of Kubernetes' leader election (LeaderElectionConfig, client-go)."""

    duration: timedelta = timedelta(seconds=15)
    """Time without a renewal after which other members take a member's shards."""
    renew_deadline: timedelta = timedelta(seconds=10)
    """Time without a renewal after which a member gives up its shards."""
    retry_period: timedelta = timedelta(seconds=2)
    """Interval of renewals."""


class Renewal(NamedTuple):
    """A renewal in a transaction. It counts once the transaction is committed."""

    member: str
    sent: timedelta
    """When it was sent, since the start of this machine. The renewed lease is measured from then."""


class _Configuration(NamedTuple):
    """The configuration that this process has loaded."""

    rows: Mapping[str, Mapping[str, Any]]
    """Rows of the table `follows` by autoscaler name, without the member."""
    digest: str
    loaded: int


class Leases:
    """One for each process. Any thread can use it.

    A thread that hung in the database can return after another thread took its place. Its older result is ignored.
    """

    def __init__(
        self,
        database: Database,
        clock: Clock,
        options: LeaseOptions,
        process: str,
    ) -> None:
        """Not a member yet. `process`: the result of `new_process`, after which the database's sessions are named."""
        self.options: Final = options
        self._database: Final = database
        self._clock: Final = clock
        self._process: Final = process
        self._joins: Final = count(1)
        self._lock = threading.Lock()
        """Guards the attributes below. Never held during a call of the database."""
        self._member: str | None = None
        self._held = frozenset[ShardName]()
        self._excess = frozenset[ShardName]()
        self._ends = timedelta(0)
        """When the lease is over, since the start of this machine."""
        self._members = 0
        self._shares = count(1)
        self._share = 0
        """Number of the `share` that set the attributes above."""
        self._configuration: _Configuration | None = None
        self._saved: tuple[str, _Configuration] | None = None
        """The member and the configuration whose rows of `follows` are in the database."""

    @property
    def member(self) -> str | None:
        """The member's id; None if this process is not a member: it lost its lease, or has not joined."""
        return self._member

    @property
    def members(self) -> int:
        """Number of members at the last `share`, this one included; 0 if it is not known."""
        return self._members

    @property
    def held(self) -> frozenset[ShardName]:
        """The shards that this member holds. Replaced as a whole."""
        return self._held

    @property
    def excess(self) -> frozenset[ShardName]:
        """The held shards that this member is to give back: another is to hold them, or this one needs them no more."""
        return self._excess

    def seconds_left(self) -> float:
        """Return the seconds until the lease is over unless it is renewed; at most 0 if it is lost.

        Measured from before the last renewal was sent, by CLOCK_BOOTTIME, which includes sleep.
        """
        if self._member is None:
            return 0.0
        return (self._ends - self.elapsed()).total_seconds()

    def holds(self, name: ShardName, member: str | None) -> bool:
        """Return whether this process is that member, holds the shard, and its lease is not over."""
        return member is not None and self._member == member and name in self._held and self.seconds_left() > 0

    def renew(self) -> None:
        """Renew the lease, or join as a new member. Raises StateError.

        A lease that was not renewed for `renew_deadline`, or that another member ended, is lost and never renewed. This
        process then holds nothing, and the next call joins as a new member.
        """
        if self.seconds_left() <= 0:
            self.give_up()
        member, sent = self._member, self.elapsed()
        with self._database.writing() as connection:
            if member is None:
                renewed = self._join(connection)
            elif prolong(connection, member):
                renewed = member
            else:
                renewed = None
        if renewed is None:
            self.give_up(member)
            return
        with self._lock:
            if self._member is None and member is None:
                self._member, self._ends = renewed, sent + self.options.renew_deadline
        self.confirmed(Renewal(renewed, sent))

    def share(
        self, needs: Collection[ShardName], done: Collection[ShardName], of_this_host: Collection[str] = ()
    ) -> None:
        """Take and give back shards, a step towards equal counts for all members. Raises StateError.

        Does nothing while another member shares; the next call does it. Removes members whose leases are over.

        `needs`: shards in which this configuration has autoscalers and that this host can serve. `done`: shards to give
        back that no cycle uses. `of_this_host`: connections that one daemon of each host serves; of several daemons on
        a host, the one that joined first.
        """
        member = self._member
        if member is None:
            return
        self._save_configuration(member)
        with self._database.writing() as connection:
            dead = {name: token for name, token in dead_members(connection, self.elapsed).items() if name != member}
            end_sessions(connection, dead)  # a dead member's session can keep this lock, so this comes first
            if not is_free(connection, Lock.SHARING):
                return  # if the member that shares were stopped now, waiting for it would cost this one its lease
            if not is_alive(connection, member):
                self.give_up(member)
                return
            number = next(self._shares)  # in the order of the commits, because no other thread shares until then
            evict(connection, dead)
            taken = needs_of_the_first(connection, member) & {*of_this_host}
            save_needs(connection, member, [name for name in needs if name.adapter not in taken])
            give_back(connection, member, done)
            live = set(connection.execute(select(schema.member.c.id)).scalars())
            wanted, holders = needs_of_members(connection), read_holders(connection, live)
            planned = share_out(wanted, holders)
            take(connection, member, live, [name for name in planned if planned[name] == member != holders.get(name)])
            mine = {name for name, holder in read_holders(connection, [member]).items()}
        with self._lock:
            if self._member == member and number > self._share:
                self._share = number
                self._held = frozenset(mine)
                self._excess = frozenset(name for name in mine if planned.get(name) != member)
                self._members = len(wanted)

    def follow(self, configured: Mapping[ShardName, Collection[Autoscaler]], digest: str) -> None:
        """Save the autoscalers of the loaded configuration. Raises StateError; then `share` tries again.

        `digest`: digest of the whole configuration.
        """
        rows = {scaler.name: _follows_row(name, scaler) for name, scalers in configured.items() for scaler in scalers}
        self._configuration = _Configuration(rows, digest, to_micros(self._clock.now()))
        if (member := self._member) is not None:
            self._save_configuration(member)

    def begin(self, name: ShardName) -> tuple[int, str]:
        """Begin a new epoch of a held shard. Returns the epoch and the member. Older epochs can no longer commit.

        Raises StateError.
        """
        member = self._member
        if member is None or name not in self._held:
            raise StateError(
                f"this daemon does not hold shard {name}; another daemon serves it, or takes it when the last lease is "
                "over"
            )
        with self._database.writing() as transaction:
            return next_epoch(transaction, name, member), member

    def confirm(self, connection: Connection, member: str | None) -> Renewal:
        """Renew the lease within a transaction, before its other locks. Raises StaleLedger if the lease is over."""
        sent = self.elapsed()
        over = self._member != member or self.seconds_left() <= 0
        if member is None or over or not prolong(connection, member):
            self.give_up(member)
            raise StaleLedger(
                f"{place(self._database.url)}: this daemon has lost its lease; it writes nothing until it joins again"
            )
        return Renewal(member, sent)

    def confirmed(self, renewal: Renewal) -> None:
        """Note that the renewal's transaction is committed."""
        with self._lock:
            if self._member == renewal.member:
                self._ends = max(self._ends, renewal.sent + self.options.renew_deadline)

    def give_up(self, member: str | None = None) -> None:
        """Hold nothing and be no member. The next `renew` joins as a new member.

        The database keeps the lease, because a write may still be on its way until the lease ends. `member`: does
        nothing if this process is another member now.
        """
        with self._lock:
            if member is None or self._member == member:
                self._member, self._members = None, 0
                self._held = self._excess = frozenset()

    def leave(self) -> None:
        """Give everything back, so that others can serve it at once. Raises StateError.

        For a process whose cycles have all ended.
        """
        member = self._member
        self.give_up()
        if member is None:
            return
        with self._database.writing() as connection:
            wait_for(connection, Lock.SHARING)
            remove(connection, [member])

    def elapsed(self) -> timedelta:
        """Return the time since the start of this machine, including sleep."""
        return self._clock.moment().elapsed

    def _join(self, connection: Connection) -> str:
        """Insert a row for a new member and return its id."""
        wait_for(connection, Lock.SHARING)  # waits while a backup is restored
        member, host = new_member(self._process, next(self._joins)), socket.gethostname()
        configuration = self._configuration
        columns = "id, token, duration, renewed, joined, place, host, version, loaded, digest"
        values = f":id, :token, :duration, {NOW}, {NOW}, :place, :host, :version, :loaded, :digest"
        connection.execute(
            text(f"INSERT INTO member ({columns}) VALUES ({values})"),  # noqa: S608 - constants
            {
                "id": member,
                "token": new_token(),
                "place": f"{host}, pid {os.getpid()}",
                "host": host,
                "version": VERSION,
                "duration": micros_of(self.options.duration),
                "loaded": configuration and configuration.loaded,
                "digest": configuration and configuration.digest,
            },
        )
        return member

    def _save_configuration(self, member: str) -> None:
        """Update the member's rows of `follows` to the configuration. Writes only the differences."""
        wanted = self._configuration
        known = self._saved
        before: Mapping[str, Mapping[str, Any]] = {} if known is None or known[0] != member else known[1].rows
        if wanted is None or (known is not None and known == (member, wanted)):
            return
        table = schema.follows
        new = [{"member": member, **row} for name, row in wanted.rows.items() if before.get(name) != row]
        gone = sorted(before.keys() - wanted.rows.keys())
        with self._database.writing() as connection:
            mine = update(schema.member).where(schema.member.c.id == member)
            if connection.execute(mine.values(loaded=wanted.loaded, digest=wanted.digest)).rowcount == 0:
                return  # the lease is lost, which the next renewal notices
            schema.upsert(connection, table, new)
            if gone:
                connection.execute(delete(table).where(table.c.member == member, table.c.name.in_(gone)))
        self._saved = member, wanted


def _follows_row(name: ShardName, scaler: Autoscaler) -> Mapping[str, Any]:
    return {
        "name": scaler.name,
        "target": target_text(scaler.target),
        "connection": name.adapter,
        "shards": name.of,
        "shard": name.number,
        "digest": sha256(SPEC.dump(scaler)).hexdigest()[:16],
    }
