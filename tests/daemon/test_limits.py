"""Shared limits of a connection in a real daemon survive a kill, a restart and reloads."""

import sys
from datetime import timedelta
from pathlib import Path
from signal import SIGHUP, SIGKILL
from typing import Any

import pytest

from tests.daemon.running import RunningDaemon, autoscaler, finished, running_daemon, write_config
from tests.daemon.state import records, rows

pytestmark = pytest.mark.slow

NAMES = ("a", "b", "c", "d")


def configured(folder: Path, prometheus: str, query: str, **limits: Any) -> Path:
    """Write a configuration of four groups of five on a connection with these keys."""
    fleet = {"type": "memory", "groups": {name: {"initialReplicas": 5} for name in NAMES}} | limits
    scalers = [autoscaler(name, query, adapter="fleet", maxReplicas=9) for name in NAMES]
    return write_config(folder, prometheus, scalers, {"fleet": fleet}, controller={"downscaleStabilization": 0})


def sizes(folder: Path) -> dict[str, int]:
    """Return the last sizes."""
    last = {name: records(folder, name)[-1].decision for name in NAMES}
    return {name: (made.current or 0) if made.written is None else made.written for name, made in last.items()}


def removed(folder: Path) -> list[tuple[Any, int]]:
    """Return the removals: time and number, in order."""
    made = [record.decision for name in NAMES for record in records(folder, name)]
    falls = [(one.now, (one.current or 0) - one.written) for one in made if one.written is not None]
    return sorted((at, count) for at, count in falls if count > 0)


def held(daemon: RunningDaemon, reason: str) -> None:
    """Wait until this limit has kept each of the four at its size twice."""
    for name in NAMES:
        daemon.wait_for("decision", count=2, autoscaler=name, reason=reason, written=None)


def test_a_killed_daemon_gets_no_fresh_budget(folder: Path, prometheus: str) -> None:
    """Three of sixteen may leave, then none, in this process and the next, until a reload shortens the period."""
    budget = {"instances": 3, "periodSeconds": 1800}
    config = configured(folder, prometheus, "vector(1)", removalBudget=budget)
    with running_daemon(config) as daemon:
        held(daemon, "RemovalBudgetLimit")
        daemon.send(SIGKILL)
        daemon.process.wait()
    assert sum(sizes(folder).values()) == 17
    with running_daemon(config) as daemon:
        held(daemon, "RemovalBudgetLimit")
        shown = daemon.metrics()
        said = finished([sys.executable, "-m", "autoscaler", "explain", "a", f"--server={daemon.url}"], folder).stdout
        status = daemon.get("/status").text
        assert sum(sizes(folder).values()) == 17
        configured(folder, prometheus, "vector(1)", removalBudget=budget | {"periodSeconds": 1})
        daemon.send(SIGHUP)
        daemon.wait_for("reloaded")
        for name in NAMES:
            daemon.wait_for("decision", autoscaler=name, current=1)
        assert daemon.stop() == 0
    assert 'autoscaler_removal_budget_left{adapter="fleet"} 0.0' in shown
    assert "fleet's removalBudget is 3 instances in 30m, of which 0 were left" in said
    assert "0 of 3 may leave" in status
    times = removed(folder)
    for until, _ in times:
        assert sum(count for at, count in times if until - timedelta(seconds=1) < at <= until) <= 3
    assert {epoch for (epoch,) in rows(folder, "SELECT epoch FROM shard")} == {2}  # the reload needed no new shard
