"""Whoever reads the state waits for no shard, and no shard for them."""

import itertools
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import requests

from autoscaler.decide import decide
from autoscaler.model import History, Observation, Observed, TargetRef
from tests.daemon.hanging import ThirdParty
from tests.daemon.running import RunningDaemon, autoscaler, finished, running_daemon, write_config
from tests.decide.build import CPU_60, samples, scaler, state
from tests.documents.lives import open_state
from tests.replaced import replace

pytestmark = pytest.mark.slow

REMEMBERED = 4_000
CYCLING = 100
READ = 3


def remember_many(folder: Path) -> None:
    """A state in which each of so many was decided about once, a minute ago, with ten instances."""
    one = scaler(CPU_60, minimum=2)
    scalers = {
        name: replace(one, name=name, target=TargetRef("old", name))
        for name in (f"old-{number:04}" for number in range(REMEMBERED))
    }
    now = datetime.now(UTC) - timedelta(minutes=1)
    seen = Observation(state(10), (samples([600] * 10, now),))
    with open_state(folder) as opened:
        ledger = opened.ledger("old")
        ledger.recall(list(scalers.values()))
        decisions = [decide(each, seen, History(), now) for each in scalers.values()]
        ledger.record(scalers, Observed(dict.fromkeys(scalers, seen)), decisions)


def page(url: str) -> None:
    answer = requests.get(f"{url}/?q=old-", timeout=60)
    assert "old-0000" in answer.text


def get(url: str, folder: Path) -> None:
    shown = finished([sys.executable, "-m", "autoscaler", "get", f"--server={url}"], folder / "state")
    assert shown.returncode == 0, shown.stderr
    assert shown.stdout.count("\n") == REMEMBERED + CYCLING + 1


def test_reading_a_large_state_does_not_stop_the_shards(folder: Path, prometheus: str) -> None:
    """The first view once decoded every decision inside the shards' lock, and all shards stood still meanwhile."""
    remember_many(folder / "state")
    third = ThirdParty(folder)
    scalers = [autoscaler(f"s{number}", "vector(2)", adapter="third", syncPeriod="2s") for number in range(CYCLING)]
    config = write_config(folder, prometheus, scalers, third.section())
    with running_daemon(config, env=third.env) as daemon:
        url = daemon.url
        daemon.wait_for("decision", autoscaler="s0")
        for _ in range(READ):
            page(url)
            get(url, folder)
        wait_for_cycles(daemon, 3)
        assert daemon.events("cycle_failed") == []
        assert daemon.stop() == 0
    decided = [datetime.fromisoformat(line["timestamp"]) for line in daemon.events("decision", autoscaler="s0")]
    longest = max(after - before for before, after in itertools.pairwise(decided))
    assert longest < timedelta(seconds=10)


def wait_for_cycles(daemon: RunningDaemon, more: int) -> None:
    count = len(daemon.events("decision", autoscaler="s0"))
    daemon.wait_for("decision", autoscaler="s0", count=count + more)
