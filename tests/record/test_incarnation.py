"""Generations and epochs of a former server are never valid again: after a restored backup, or on another server."""

import shutil
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest
from sqlalchemy import make_url, select

from autoscaler.errors import StaleLedger, StateError
from autoscaler.record import backup, schema
from autoscaler.record.housekeeping import Retention
from autoscaler.record.lease import LeaseOptions
from autoscaler.record.state import State
from tests.clocks import FakeClock
from tests.record.conftest import Opener, each_database
from tests.record.epochs import epochs_of
from tests.record.hosts import SECONDS, WEB, Host, Hosts, two
from tests.record.postgresql import Server, empty_state, running_server
from tests.record.samples import FLEET, at, decision, keep, rising, save, scaler


def _restored(opener: Opener, file: Path) -> State:
    """Open the state again after a restore. On PostgreSQL `file` stands for a dump of the database as it is."""
    opener.close()
    if opener.url is None:
        backup.restore(None, opener.folder, file, replacing=True)
    else:
        backup.end_copied(opener.url, opener.folder)
    return opener.state()


def generation_of(state: State) -> str:
    with state._context.readers.begin() as connection:
        found: str = connection.execute(select(schema.fence.c.generation)).scalar_one()
        return found


@each_database
def test_after_a_restored_backup_no_epoch_begins_twice(opener: Opener, tmp_path: Path) -> None:
    """This holds for shards in the backup and for later ones."""
    state = opener.state()
    state.ledger(FLEET)
    if opener.url is None:
        backup.back_up(None, opener.folder, tmp_path / "a.db")
    known = {generation_of(state)}
    for _ in range(5):
        state.ledger(FLEET)
        known |= {*epochs_of(state).values()}
    assert len(known) == 6
    for number in range(1, 3):
        state = _restored(opener, tmp_path / "a.db")
        state.ledger(FLEET)
        known |= {generation_of(state), *epochs_of(state).values()}
        assert len(known) == 6 + 2 * number


@pytest.mark.slow
def test_a_daemon_from_before_a_restored_copy_commits_nothing(hosts: Hosts, tmp_path: Path) -> None:
    """It seemed dead: its lease was over when the copy was restored. Its notices end, too."""
    first = hosts.start()
    first.turn()
    ledger = first.ledger()
    with pytest.raises(StateError, match=r"in use by the daemon .*, pid \d+; first stop it"):
        backup.end_copied(hosts.url, tmp_path)
    hosts.advance(SECONDS, without=[first])
    backup.end_copied(hosts.url, tmp_path)
    ledger.recall([scaler()])
    with pytest.raises(StaleLedger, match="superseded"):
        save(ledger, decision(0))
    with pytest.raises(StaleLedger, match="this daemon has lost its lease"):
        ledger.intend([rising(15)])


@pytest.mark.slow
def test_a_restored_copy_has_no_leader(hosts: Hosts, tmp_path: Path) -> None:
    """The next daemon leads at once."""
    first, _ = two(hosts)
    hosts.advance(SECONDS)
    backup.end_copied(hosts.url, tmp_path)
    next_one = hosts.start()
    next_one.turn()
    assert next_one.leads
    first.turn()
    assert not first.leads


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with running_server() as server:
        yield server


@pytest.fixture
def primary(server: Server) -> Iterator[Server]:
    """Return a server that the test stops."""
    yield server
    server.start()


SHORT = LeaseOptions(timedelta(seconds=10), timedelta(seconds=8), timedelta(seconds=1))


def opened(url: str, folder: Path) -> Host:
    clock = FakeClock()
    return Host(State.open(url, folder, Retention(), clock, SHORT), clock)


def waited(host: Host) -> None:
    """Take turns until the lease that it sees is over."""
    for _ in range(11):
        host.turn()
        host.clock.advance(1)
    host.turn()


@pytest.mark.slow
def test_after_a_lagging_standby_is_promoted_no_old_daemon_commits(primary: Server, tmp_path: Path) -> None:
    """It did not receive the last takeover, so it has the generation and the epochs of the leader before.

    Source: PostgreSQL's streaming replication, asynchronous by default.
    """
    url = empty_state(primary.address)
    first = opened(url, tmp_path)
    first.turn()
    oldest = first.ledger()
    keep(oldest, decision(0))
    standby = primary.standby()
    standby.wait_for(primary)
    standby.stop()  # it lags from here on
    second = opened(url, tmp_path)
    waited(second)
    assert second.leads
    stale = second.ledger()
    keep(stale, decision(15))
    primary.stop()
    standby.promote(primary.port)
    try:
        third = opened(url, tmp_path)
        waited(third)
        assert third.leads
        ledger = third.ledger()
        keep(ledger, decision(30))
        for late in (oldest, stale):
            late._context.readers.close()
            late.recall([scaler()])
            with pytest.raises(StaleLedger, match="superseded"):
                save(late, decision(45))
            with pytest.raises(StaleLedger, match="this daemon has lost its lease"):
                late.intend([rising(60)])
        assert epochs_of(third.state) == {WEB: ledger._epoch}
        assert [record.decision.now for record in third.state.archive.records("web")] == [at(0), at(30)]
        for host in (first, second, third):
            host.state.close()
    finally:
        standby.stop()
        shutil.rmtree(standby.folder)


@pytest.mark.slow
def test_an_address_of_two_servers_leads_to_the_one_that_takes_writes(primary: Server, tmp_path: Path) -> None:
    """With the address in docs/hosts.md, the daemon continues after a fail-over without a proxy or a DNS name."""
    user = make_url(empty_state(primary.address)).username
    standby = primary.standby()
    hosts = "&".join(f"host=127.0.0.1:{server.port}" for server in (standby, primary))
    try:
        host = opened(f"postgresql://{user}@/postgres?{hosts}&target_session_attrs=read-write", tmp_path)
        host.turn()
        ledger = host.ledger()
        keep(ledger, decision(0))
        standby.wait_for(primary)
        primary.stop()
        with pytest.raises(StateError):
            save(ledger, decision(15))
        standby.promote_here()
        keep(ledger, decision(30))
        assert [record.decision.now for record in host.state.archive.records("web")] == [at(0), at(30)]
        host.state.close()
    finally:
        standby.remove()
