"""SIGTERM takes precedence: running cycles end and are recorded, and nothing new begins."""

import signal
import sqlite3
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.daemon.hanging import ThirdParty
from tests.daemon.running import RunningDaemon, autoscaler, running_daemon, write_config
from tests.daemon.state import records

pytestmark = pytest.mark.slow
_RELOADS = 40
"""So many reloads that wait for a lock take 200 s, and `RunningDaemon.stop` waits for 120."""
_CALL_SECONDS = 3.0
"""The duration of a slow call, well within its cycle."""


def configured(folder: Path, prometheus: str, third: ThirdParty, where: str = "", **more: object) -> Path:
    """Write a configuration of an autoscaler that should scale from 1 to 3, with a cycle every 20 s."""
    scaler = autoscaler("web", "vector(3)", adapter="third", syncPeriod="20s")
    return write_config(folder, prometheus, [scaler], third.section(where, **more))


def assert_ends(daemon: RunningDaemon) -> None:
    """Assert that SIGTERM ends it in order. A call that hangs lasts an hour."""
    assert daemon.stop() == 0
    assert daemon.events("stopped") != []


def test_a_reload_that_waits_for_a_running_cycle_begins_no_other_cycle(
    folder: Path, prometheus: str, third: ThirdParty
) -> None:
    """The new shard's first cycle once began anyway, and delayed the end by up to a minute."""
    config = configured(folder, prometheus, third, "scale", seconds=_CALL_SECONDS)
    with running_daemon(config, env=third.env) as daemon:
        daemon.until(lambda: third.notes("hangs", 1) != [], "the first write")
        configured(folder, prometheus, third, "scale", seconds=_CALL_SECONDS, label="another")
        daemon.send(signal.SIGHUP)
        daemon.until(lambda: third.notes("built", "another") != [], "the reload")
        assert_ends(daemon)
    assert len(third.notes("hangs")) == len(third.notes("returns")) == 1
    assert [record.decision.written for record in records(folder, "web")] == [3]


def test_a_hanging_reload_is_abandoned(folder: Path, prometheus: str, third: ThirdParty) -> None:
    """It hangs in foreign code, which cannot be interrupted. Its HTTP client gets an error."""
    config = configured(folder, prometheus, third)
    with running_daemon(config, env=third.env) as daemon, ThreadPoolExecutor(1) as thread:
        daemon.wait_for("ready")
        configured(folder, prometheus, third, "build")
        asked = thread.submit(daemon.post, "/-/reload")
        daemon.until(lambda: third.notes("hangs", 1) != [], "the reload")
        daemon.send(signal.SIGHUP)
        daemon.send(signal.SIGHUP)
        assert_ends(daemon)
        assert asked.result().status_code >= 400
        assert "the daemon is stopping" in asked.result().text


def test_reloads_that_wait_for_a_locked_state_are_abandoned(folder: Path, prometheus: str, third: ThirdParty) -> None:
    """Each waits five seconds for a lock that another process holds."""
    config = configured(folder, prometheus, third)
    with running_daemon(config, env=third.env) as daemon:
        daemon.wait_for("decision", written=3)
        configured(folder, prometheus, third, label="another")
        lock = sqlite3.connect(folder / "state" / "state.db", isolation_level=None)
        lock.execute("BEGIN IMMEDIATE")
        try:
            daemon.send(signal.SIGHUP)
            daemon.until(lambda: third.notes("built", "another") != [], "the reload")
            for _ in range(_RELOADS):
                daemon.send(signal.SIGHUP)
                time.sleep(0.1)  # signals that arrive together are one
            assert_ends(daemon)
        finally:
            lock.close()


def test_a_hanging_start_is_abandoned(folder: Path, prometheus: str, third: ThirdParty) -> None:
    """A service manager must be able to stop it without a kill."""
    config = configured(folder, prometheus, third, "build")
    with running_daemon(config, env=third.env) as daemon:
        daemon.until(lambda: third.notes("hangs", 1) != [], "the adapter that hangs")
        assert_ends(daemon)
        assert daemon.events("starting") == []


def test_a_second_signal_changes_nothing(folder: Path, prometheus: str, third: ThirdParty) -> None:
    """The running cycle still ends and is recorded."""
    config = configured(folder, prometheus, third, "scale", seconds=_CALL_SECONDS)
    with running_daemon(config, env=third.env) as daemon:
        daemon.until(lambda: third.notes("hangs", 1) != [], "the first write")
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGTERM):
            daemon.send(number)
            time.sleep(0.1)
        assert daemon.stop(signal.SIGINT) == 0
        assert daemon.events("stopped", cycles_ended=True) != []
        assert len(daemon.events("stopping")) == 1
    assert [record.decision.written for record in records(folder, "web")] == [3]
