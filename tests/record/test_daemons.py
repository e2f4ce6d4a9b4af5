"""Which daemons are connected to a state, on a real PostgreSQL; and two states in one database."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import create_engine, text

from autoscaler.model import ShardName
from autoscaler.record.daemons import Daemons, read_daemons
from autoscaler.record.housekeeping import Retention
from autoscaler.record.lease import LeaseOptions
from autoscaler.record.locks import Lock, wait_for
from autoscaler.record.state import State
from tests.clocks import FakeClock
from tests.record.hosts import SECONDS, Host, Hosts, two
from tests.record.postgresql import empty_state
from tests.record.samples import START, decision, keep, scaler
from tests.waiting import until

pytestmark = pytest.mark.slow
SCHEMAS = ("emea", "apac")


def connected(host: Host) -> Daemons:
    with host.state._context.readers.begin() as connection:
        return read_daemons(connection)


@pytest.fixture
def named(hosts: Hosts, monkeypatch: pytest.MonkeyPatch) -> list[Host]:
    """Return a leader and two that stand by, on hosts of these names."""
    found = []
    for name in ("one", "two", "three"):
        monkeypatch.setattr("socket.gethostname", lambda name=name: name)
        found.append(hosts.start())
        found[-1].turn()
    return found


def test_the_others_are_all_connected_daemons_but_this_one(named: list[Host]) -> None:
    pid = os.getpid()
    assert named[0].lease.others() == [f"three, pid {pid}", f"two, pid {pid}"]
    assert named[1].lease.others() == [f"one, pid {pid}", f"three, pid {pid}"]
    named[0].state.close()
    until(lambda: named[1].lease.others() == [f"three, pid {pid}"])  # PostgreSQL ends a session, and its lock, later


def test_a_daemon_that_has_only_opened_the_state_is_no_other(hosts: Hosts) -> None:
    """A command opens it, too. A daemon is connected from its first turn."""
    first, second = hosts.start(), hosts.start()
    assert (first.lease.others(), second.lease.others()) == ([], [])
    second.turn()
    assert len(first.lease.others()) == 1


def test_a_daemon_is_connected_once_whatever_its_sessions(hosts: Hosts) -> None:
    """A thread that hangs keeps its session, and the next one gets another."""
    first, second = two(hosts)
    with second.lease._database.writing():
        second.turn()
        assert len(first.lease.others()) == 1
    second.turn()
    assert len(first.lease.others()) == 1


def test_a_daemon_that_has_connected_again_is_seen_again(hosts: Hosts) -> None:
    """Its lock has gone with its session."""
    first, second = two(hosts)
    second.lease._database._engine.dispose()
    until(lambda: first.lease.others() == [])
    second.turn()
    assert len(first.lease.others()) == 1


def test_a_daemon_whose_first_turn_failed_is_connected(hosts: Hosts, monkeypatch: pytest.MonkeyPatch) -> None:
    """The lock belongs to the session, whatever becomes of the transaction in which it was taken."""
    first, second = hosts.start(), hosts.start()
    first.turn()
    with monkeypatch.context() as patch:
        patch.setattr(second.lease, "_take", lambda _: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            second.turn()
    assert len(first.lease.others()) == 1
    second.turn()
    assert len(first.lease.others()) == 1
    second.state.close()
    until(lambda: first.lease.others() == [])


def test_readers_are_told_the_leader_and_the_standbys(named: list[Host]) -> None:
    found = connected(named[1])
    assert found.now == START
    assert found.leader is not None
    assert (found.leader.name, found.leader.host) == (f"one, pid {os.getpid()}", "one")
    assert (found.leader.since, (found.leader.until - START).total_seconds()) == (START, SECONDS)
    assert [name.partition(",")[0] for name in found.standbys] == ["three", "two"]


def test_readers_are_told_that_no_daemon_leads(hosts: Hosts, named: list[Host]) -> None:
    """A dead leader is shown until its lease ends, by the database's clock."""
    hosts.advance(SECONDS - 1)
    assert connected(named[1]).leader is not None
    hosts.advance(1)
    assert connected(named[1]).leader is None
    named[1].lease._database._engine.dispose()
    named[0].state.close()
    until(lambda: connected(named[1]).standbys == (f"three, pid {os.getpid()}",))


def test_a_daemon_that_resigned_stands_by(named: list[Host]) -> None:
    named[0].lease.resign()
    found = connected(named[1])
    assert found.leader is None
    assert [name.partition(",")[0] for name in found.standbys] == ["one", "three", "two"]


@pytest.fixture
def schemas(postgresql: str, tmp_path: Path) -> Iterator[list[Host]]:
    """Two daemons of one user, each with a schema of its own in one database."""
    url = empty_state(postgresql)
    user = url.partition("://")[2].partition("@")[0]
    engine = create_engine(url.replace("postgresql:", "postgresql+psycopg:").replace(f"{user}@", "postgres@"))
    names = [f"{user}_{each}" for each in SCHEMAS]
    with engine.begin() as connection:
        for name in names:
            connection.execute(text(f"CREATE SCHEMA {name} AUTHORIZATION {user}"))
    engine.dispose()
    found = []
    for name in names:
        address, clock = f"{url}?options=-csearch_path%3D{name}", FakeClock()
        found.append(Host(State.open(address, tmp_path, Retention(), clock, LeaseOptions()), clock))
    yield found
    for host in found:
        host.state.close()


def test_the_leaders_of_two_schemas_of_one_database_do_not_see_each_other(schemas: list[Host]) -> None:
    """They divide what one leader could not do."""
    emea, apac = schemas
    for host in schemas:
        host.turn()
    assert (emea.leads, apac.leads) == (True, True)
    for host in schemas:
        assert host.lease.others() == []
        found = connected(host)
        assert found.leader is not None
        assert found.standbys == ()
    ledgers = [host.ledger(ShardName("fleet")) for host in schemas]
    keep(ledgers[0], decision(0))
    assert apac.state.archive.latest() == {}
    keep(ledgers[1], decision(15))
    assert [len(list(host.state.archive.records("web"))) for host in schemas] == [1, 1]


def test_two_schemas_of_one_database_do_not_wait_for_each_other(schemas: list[Host]) -> None:
    """PostgreSQL's advisory locks belong to the whole database."""
    emea, apac = schemas
    for host in schemas:
        host.turn()
    ledger = apac.ledger(ShardName("fleet"))
    with emea.state._database.writing() as connection:
        connection.execute(text("SET LOCAL lock_timeout = '100ms'"))
        with apac.state._database.writing() as other:
            for lock in Lock:
                wait_for(other, lock, "fleet")
                wait_for(connection, lock, "fleet")
        connection.execute(text("LOCK TABLE fence, lease IN ACCESS EXCLUSIVE MODE"))
        keep(ledger, decision(0))
        apac.turn()
        assert ledger.recall([scaler()])["web"].at == decision(0).now


def test_a_takeover_in_one_schema_ends_no_session_of_another(schemas: list[Host], tmp_path: Path) -> None:
    emea, apac = schemas
    for host in schemas:
        host.turn()
    clock = FakeClock()
    standby = Host(State.open(str(emea.state._database.url), tmp_path, Retention(), clock, LeaseOptions()), clock)
    standby.turn()
    with apac.state._database.writing() as theirs:
        clock.advance(SECONDS)
        standby.turn()
        assert standby.leads
        theirs.execute(text("SELECT 1"))
    apac.turn()
    assert apac.leads
    standby.state.close()
