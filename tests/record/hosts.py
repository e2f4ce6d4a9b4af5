"""Several daemons' states on one real PostgreSQL, each with a clock of its own; the database's is set by the test.

Only `advance` and `step` change the database's time: a function of the same name takes precedence over its own.
"""

from collections.abc import Collection
from datetime import timedelta
from pathlib import Path

from sqlalchemy import create_engine, text

from autoscaler.model import ShardName, shard_of
from autoscaler.record.housekeeping import Retention
from autoscaler.record.lease import Lease, LeaseOptions
from autoscaler.record.ledger import Ledger
from autoscaler.record.state import State
from tests.clocks import FakeClock
from tests.record.postgresql import empty_state
from tests.record.samples import FLEET, START, scaler

LEASE = LeaseOptions()
SECONDS = LEASE.duration.total_seconds()
DEADLINE = LEASE.renew_deadline.total_seconds()
SHARDS = 8
ALL = [ShardName(FLEET, number, SHARDS) for number in range(1, SHARDS + 1)]
"""Every shard of FLEET."""
WEB = shard_of(scaler().target, SHARDS)
"""The shard of the autoscaler of `samples`."""


class Host:
    """One daemon's state."""

    def __init__(self, state: State, clock: FakeClock) -> None:
        assert state.lease is not None
        self.state, self.clock = state, clock
        self.lease: Lease = state.lease

    def turn(self) -> None:
        """Do what the lease thread does every few seconds."""
        self.lease.turn()

    @property
    def leads(self) -> bool:
        return self.lease.seconds_left() > 0

    def ledger(self, name: ShardName = WEB) -> Ledger:
        """Return the ledger of a shard. Only the leader can begin it."""
        return self.state.ledger(name.adapter, name.number, name.of)


class Hosts:
    """All hosts, and their database."""

    def __init__(self, server: str, folder: Path) -> None:
        self.plain_url = empty_state(server)
        user = self.plain_url.partition("://")[2].partition("@")[0]
        self.url = f"{self.plain_url}?options=-csearch_path%3D{user},pg_catalog%20-clock_timeout%3D5s"
        self._folder = folder
        self._all: list[Host] = []
        self._engine = create_engine(self.plain_url.replace("postgresql:", "postgresql+psycopg:"))
        self._set(
            f"CREATE TABLE hands AS SELECT timestamptz '{START.isoformat()}' AS at",
            "CREATE FUNCTION clock_timestamp() RETURNS timestamptz LANGUAGE sql VOLATILE AS 'SELECT at FROM hands'",
        )

    def start(
        self,
        wrong_by: float = 0,
        up: float = 0,
        retention: Retention = Retention(),  # noqa: B008 - it is frozen
        options: LeaseOptions = LEASE,
    ) -> Host:
        """Start a daemon on its own host, whose clock is wrong by so many seconds. It has not asked for the lease yet.

        `up`: by how much its machine's uptime exceeds that of the first hosts.
        """
        clock = FakeClock(START + timedelta(seconds=wrong_by))
        clock.advance(up)
        host = Host(State.open(self.url, self._folder, retention, clock, options), clock)
        self._all.append(host)
        return host

    def advance(self, seconds: float, without: Collection[Host] = ()) -> None:
        """Advance the time. `without`: virtual machines that are suspended."""
        self.step(seconds)
        for host in self._all:
            if host not in without:
                host.clock.advance(seconds)

    def live(self, seconds: int, *running: Host, without: Collection[Host] = ()) -> None:
        """Advance the time; each of these hosts takes a turn every second."""
        for _ in range(seconds):
            self.advance(1, without)
            for host in running:
                host.turn()

    def fail_over(self, first: Host, second: Host) -> None:
        """Let the second host take the lease while the first one's virtual machine is suspended."""
        second.turn()
        self.live(int(SECONDS), second, without=[first])
        assert second.leads

    def step(self, seconds: float) -> None:
        """Set the database's clock."""
        self._set(f"UPDATE hands SET at = at + interval '{seconds} seconds'")

    def close(self) -> None:
        for host in self._all:
            host.state.close()
        self._engine.dispose()

    def _set(self, *statements: str) -> None:
        with self._engine.begin() as connection:
            for statement in statements:
                connection.execute(text(statement))


def two(hosts: Hosts, standbys: int = 1) -> list[Host]:
    """Return a leader and hosts that stand by."""
    found = [hosts.start() for _ in range(1 + standbys)]
    for host in found:
        host.turn()
    assert [host.leads for host in found] == [True] + [False] * standbys
    return found
