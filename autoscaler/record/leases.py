"""PostgreSQL: which of the daemons that share a state serves which shards.

Each is a member for as long as it renews its lease: it replaces a random token in its row. A member that has not
renewed for `renew_deadline` stops by itself and never renews again. Another that has read the same token for the whole
of the lease's duration ends that lease, and takes its shards. Both count on their own machine's CLOCK_BOOTTIME alone;
what is between the two times is for clocks that drift. A member holds shards, and whatever it commits makes sure that
it still does (`shards.fence`).
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
    """Names, defaults and meaning of Kubernetes' leader election (client-go's LeaderElectionConfig)."""

    duration: timedelta = timedelta(seconds=15)
    """How long others leave a member's shards alone that it does not renew."""
    renew_deadline: timedelta = timedelta(seconds=10)
    """How long a member tries to renew before it gives up what it holds."""
    retry_period: timedelta = timedelta(seconds=2)
    """How often it renews."""


class Renewal(NamedTuple):
    """A lease that was renewed in a transaction, and counts once that is committed."""

    member: str
    sent: timedelta
    """When it was asked for, since the start of this machine: others leave it alone for a lease from then on."""


class _Configuration(NamedTuple):
    """What this process has loaded."""

    rows: Mapping[str, Mapping[str, Any]]
    """Of the table `follows`, by the autoscaler's name, without the member."""
    digest: str
    loaded: int


class Leases:
    """One a process, without a thread of its own. Any thread uses it.

    A thread that has hung in the database while another has taken its place may come back at any time: what it found is
    older, and changes nothing any more.
    """

    def __init__(
        self,
        database: Database,
        clock: Clock,
        options: LeaseOptions,
        process: str,
    ) -> None:
        """Not a member yet. `process`: as `member_rows.new_process` made it; the database's sessions are called so."""
        self.options: Final = options
        self._database: Final = database
        self._clock: Final = clock
        self._process: Final = process
        self._joins: Final = count(1)
        self._lock = threading.Lock()
        """For the attributes below, never held while the database is asked."""
        self._member: str | None = None
        self._held = frozenset[ShardName]()
        self._excess = frozenset[ShardName]()
        self._ends = timedelta(0)
        """When it may begin nothing more, since the start of this machine."""
        self._members = 0
        self._turns = count(1)
        self._turn = 0
        """Of the `share` that the above is from."""
        self._configuration: _Configuration | None = None
        self._following: tuple[str, _Configuration] | None = None
        """Which member the rows of `follows` are of, and what they say."""

    @property
    def member(self) -> str | None:
        """Its id; None: it is not a member now (it lost its lease, or has never joined)."""
        return self._member

    @property
    def members(self) -> int:
        """How many members shared the shards at the last `share`, this one among them; 0: not known."""
        return self._members

    @property
    def held(self) -> frozenset[ShardName]:
        """The shards that it holds. Replaced as a whole."""
        return self._held

    @property
    def excess(self) -> frozenset[ShardName]:
        """Those among them that it is to give back: another member is to have them, or it no longer needs them."""
        return self._excess

    def seconds_left(self) -> float:
        """Until it may begin nothing more unless it renews; at most 0: the lease is lost.

        Counted from before the renewal was sent, on the clock that goes on while the machine sleeps.
        """
        if self._member is None:
            return 0.0
        return (self._ends - self._elapsed()).total_seconds()

    def holds(self, name: ShardName, member: str | None) -> bool:
        """Whether this process, as that member, holds the shard, and its lease is not over."""
        return member is not None and self._member == member and name in self._held and self.seconds_left() > 0

    def renew(self) -> None:
        """Renew the lease, or join as a new member. Raises StateError.

        A lease that has not been renewed for `renew_deadline`, or that another member has ended, is lost: it is never
        renewed. It holds nothing then, and joins as a new member.
        """
        if self.seconds_left() <= 0:
            self.give_up()
        member, sent = self._member, self._elapsed()
        with self._database.writing() as connection:
            joined = self._join(connection) if member is None else None
            stands = member is None or prolong(connection, member)
        renewed = member or joined
        if renewed is None or not stands:
            self.give_up(member)
            return
        with self._lock:
            if self._member is None and member is None:
                self._member, self._ends = renewed, sent + self.options.renew_deadline
        self.confirmed(Renewal(renewed, sent))

    def share(
        self, needs: Collection[ShardName], done: Collection[ShardName], of_this_host: Collection[str] = ()
    ) -> None:
        """Take and give back shards, one step towards as many for each member. Raises StateError.

        Nothing happens while another member does so: it is for the next time.

        `needs`: those in which this process' configuration has autoscalers and that this host can serve; `done`: those
        to give back, which no cycle uses any more. Members that have not renewed their leases are removed.
        `of_this_host`: connections that are one daemon's on each host; where several are there, the first has them.
        """
        member = self._member
        if member is None:
            return
        self._save_configuration(member)
        with self._database.writing() as connection:
            if not is_free(connection, Lock.SHARING):
                return  # another one shares; were that one stopped now, waiting for it would cost this one its lease
            if not is_alive(connection, member):
                self.give_up(member)
                return
            turn = next(self._turns)  # in the order of the commits, for nobody else shares until then
            dead = dead_members(connection, self._elapsed)
            evict(connection, {name: token for name, token in dead.items() if name != member})
            taken = needs_of_the_first(connection, member) & {*of_this_host}
            save_needs(connection, member, [name for name in needs if name.adapter not in taken])
            give_back(connection, member, done)
            live = set(connection.execute(select(schema.member.c.id)).scalars())
            wanted, holders = needs_of_members(connection), read_holders(connection, live)
            planned = share_out(wanted, holders)
            take(connection, member, live, [name for name in planned if planned[name] == member != holders.get(name)])
            mine = {name for name, holder in read_holders(connection, [member]).items()}
        with self._lock:
            if self._member == member and turn > self._turn:
                self._turn = turn
                self._held = frozenset(mine)
                self._excess = frozenset(name for name in mine if planned.get(name) != member)
                self._members = len(wanted)

    def follow(self, configured: Mapping[ShardName, Collection[Autoscaler]], digest: str) -> None:
        """This process has loaded a configuration of these autoscalers. Raises StateError: `share` tries again.

        `digest`: of the whole configuration.
        """
        rows = {scaler.name: _follows_row(name, scaler) for name, scalers in configured.items() for scaler in scalers}
        self._configuration = _Configuration(rows, digest, to_micros(self._clock.now()))
        if (member := self._member) is not None:
            self._save_configuration(member)

    def begin(self, name: ShardName) -> tuple[int, str]:
        """A new epoch of a shard that it holds, and as which member. What has an older epoch commits no more.

        Raises StateError.
        """
        member = self._member
        if member is None or name not in self._held:
            raise StateError(
                f"this daemon does not hold shard {name} now: another one serves it, or none does until its lease is "
                "over"
            )
        with self._database.writing() as transaction:
            return next_epoch(transaction, name, member), member

    def confirm(self, connection: Connection, member: str | None) -> Renewal:
        """Renew the lease within a transaction, before it locks anything else. Raises StaleLedger when it is over."""
        sent = self._elapsed()
        if member is None or self._is_over(member) or not prolong(connection, member):
            self.give_up(member)
            raise StaleLedger(
                f"{place(self._database.url)}: this daemon has lost its lease; it writes nothing until it has joined "
                "again"
            )
        return Renewal(member, sent)

    def confirmed(self, renewal: Renewal) -> None:
        """Its transaction is committed."""
        with self._lock:
            if self._member == renewal.member:
                self._ends = max(self._ends, renewal.sent + self.options.renew_deadline)

    def _is_over(self, member: str) -> bool:
        return self._member != member or self.seconds_left() <= 0

    def give_up(self, member: str | None = None) -> None:
        """It holds nothing from now on, and is no member: the next `renew` joins anew.

        The database is not told: others wait for the lease's end, as a write of ours may be on its way until then.
        `member`: only while it is this one.
        """
        with self._lock:
            if member is None or self._member == member:
                self._member, self._members = None, 0
                self._held = self._excess = frozenset()

    def leave(self) -> None:
        """Give everything back, and be no member any more: others may serve it at once. Raises StateError.

        For a process whose cycles have all ended.
        """
        member = self._member
        self.give_up()
        if member is None:
            return
        with self._database.writing() as connection:
            wait_for(connection, Lock.SHARING)
            remove(connection, [member])

    def _elapsed(self) -> timedelta:
        """Since the start of this machine, times of sleep included."""
        return self._clock.moment().elapsed

    def _join(self, connection: Connection) -> str:
        """A new row, which no other member sees before the commit."""
        wait_for(connection, Lock.SHARING)  # nobody joins while a backup is restored
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
        """Bring the member's rows of `follows` to what the configuration says; only what differs is written."""
        wanted = self._configuration
        known = self._following
        before: Mapping[str, Mapping[str, Any]] = {} if known is None or known[0] != member else known[1].rows
        if wanted is None or (known is not None and known == (member, wanted)):
            return
        table = schema.follows
        new = [{"member": member, **row} for name, row in wanted.rows.items() if before.get(name) != row]
        gone = sorted(before.keys() - wanted.rows.keys())
        with self._database.writing() as connection:
            mine = update(schema.member).where(schema.member.c.id == member)
            if connection.execute(mine.values(loaded=wanted.loaded, digest=wanted.digest)).rowcount == 0:
                return  # the next renewal finds it out
            schema.upsert(connection, table, new)
            if gone:
                connection.execute(delete(table).where(table.c.member == member, table.c.name.in_(gone)))
        self._following = member, wanted


def database_time(connection: Connection) -> int:
    """In microseconds since 1970."""
    now: int = connection.execute(text(f"SELECT {NOW}")).scalar_one()
    return now


def _follows_row(name: ShardName, scaler: Autoscaler) -> Mapping[str, Any]:
    return {
        "name": scaler.name,
        "target": target_text(scaler.target),
        "connection": name.adapter,
        "shards": name.of,
        "shard": name.number,
        "digest": sha256(SPEC.dump(scaler)).hexdigest()[:16],
    }
