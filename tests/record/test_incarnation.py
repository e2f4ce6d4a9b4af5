"""Epochs of a former server are never valid again: after a restored backup, or on another server."""

import shutil
import time
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest
from sqlalchemy import make_url

from autoscaler.errors import StaleLedger, StateError
from autoscaler.record import LeaseOptions, Retention, State, backup
from tests.record.conftest import Opener
from tests.record.hosts import SHARDS, WEB, Host, Hosts
from tests.record.postgresql import Server, empty_state, running_server
from tests.record.samples import FLEET, at, decision, keep, rising, save, scaler
from tests.record.test_epochs import epochs_of
from tests.schedule.clock import FakeClock


def _restored(opener: Opener, file: Path) -> State:
    """Open the state again after a restore. On PostgreSQL `file` stands for a dump of the database as it is."""
    opener.close()
    if opener.url is None:
        backup.restore(None, opener.folder, file, replacing=True)
    else:
        backup.end_copied(opener.url, opener.folder)
    return opener.state()


def test_after_a_restored_backup_no_epoch_begins_twice(opener: Opener, tmp_path: Path) -> None:
    """This holds for shards in the backup and for later ones."""
    state = opener.state()
    state.ledger(FLEET)
    if opener.url is None:
        backup.back_up(None, opener.folder, tmp_path / "a.db")
    for _ in range(5):
        state.ledger(FLEET)
    before = epochs_of(state)
    for _ in range(2):
        state = _restored(opener, tmp_path / "a.db")
        state.ledger(FLEET)
        assert min(epochs_of(state).values()) > max(before.values())
        before = epochs_of(state)


def test_a_shard_that_is_not_in_the_backup_begins_after_all_earlier_epochs(
    sqlite_opener: Opener, tmp_path: Path
) -> None:
    """It was first served after the backup."""
    sqlite_opener.state()
    backup.back_up(None, sqlite_opener.folder, tmp_path / "a.db")
    sqlite_opener.close()
    state = sqlite_opener.state()
    state.ledger(FLEET)
    before = epochs_of(state)
    state = _restored(sqlite_opener, tmp_path / "a.db")
    state.ledger(FLEET)
    assert min(epochs_of(state).values()) > max(before.values())


@pytest.mark.slow
def test_a_daemon_from_before_a_restored_copy_commits_nothing(postgresql: str, tmp_path: Path) -> None:
    """It seemed dead: its lease was over when the copy was restored. Its claims and notices end, too."""
    hosts = Hosts(postgresql, tmp_path)
    first = hosts.start()
    first.turn()
    ledger = first.ledger()
    with pytest.raises(StateError, match="in use by 1 daemon"):
        backup.end_copied(hosts.url, tmp_path)
    hosts.advance(15, without=[first])
    backup.end_copied(hosts.url, tmp_path)
    ledger.recall([scaler()])
    with pytest.raises(StaleLedger):
        save(ledger, decision(0))
    with pytest.raises(StaleLedger):
        ledger.intend([rising(15)])
    hosts.close()


@pytest.fixture
def primary() -> Iterator[Server]:
    with running_server() as server:
        yield server


SHORT = LeaseOptions(timedelta(seconds=10), timedelta(seconds=8), timedelta(seconds=1))


def opened(url: str, folder: Path) -> Host:
    return Host(State.open(url, folder, Retention(), leases=SHORT), FakeClock())


@pytest.mark.slow
def test_after_a_lagging_standby_is_promoted_no_old_daemon_commits(primary: Server, tmp_path: Path) -> None:
    """It did not receive the last takeover, and gives the same epoch to another daemon.

    Epochs alone would let two daemons write. Source: PostgreSQL's streaming replication, asynchronous by default.
    """
    url = empty_state(primary.address)
    first = opened(url, tmp_path)
    first.turn()
    first.ledger()
    standby = primary.standby()
    standby.wait_for(primary)
    standby.stop()  # it lags from here on
    first.state.close()
    second = opened(url, tmp_path)
    second.turn()
    stale = second.ledger()
    keep(stale, decision(0))
    known = epochs_of(second.state)[WEB]
    primary.stop()
    standby.promote(primary.port)
    try:
        third = opened(url, tmp_path)
        third.turn()
        until = time.monotonic() + 60
        while third.count() < SHARDS and time.monotonic() < until:
            third.turn()  # the first daemon still has a lease there: the standby did not receive its end
        ledger = third.ledger()
        assert epochs_of(third.state)[WEB] == known
        keep(ledger, decision(15))
        stale.recall([scaler()])
        with pytest.raises(StaleLedger, match="superseded"):
            save(stale, decision(30))
        with pytest.raises(StaleLedger, match="this daemon has lost its lease"):
            stale.intend([rising(45)])
        third.state.close()
        second.state.close()
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
