"""An adapter that hangs delays its own targets by a few periods, and no others."""

from pathlib import Path

import pytest

from tests.daemon.hanging import ThirdParty
from tests.daemon.running import RunningDaemon, autoscaler, running_daemon, write_config
from tests.daemon.state import assert_unbroken, records

pytestmark = pytest.mark.slow


def configured(folder: Path, prometheus: str, third: ThirdParty, where: str, times: int) -> Path:
    """Write a configuration: two autoscalers on the hanging adapter, one on another; each should scale from 1 to 3."""
    scalers = [autoscaler(name, "vector(3)", adapter="third") for name in ("a", "b")]
    web = autoscaler("web", "vector(3)", syncPeriod="2s")
    return write_config(folder, prometheus, [*scalers, web], third.section(where, times=times))


def superseded(daemon: RunningDaemon) -> float:
    """Return the metric of the connection."""
    lines = daemon.metrics().splitlines()
    (value,) = [
        line.split()[-1] for line in lines if line.startswith("autoscaler_shards_superseded_total{") and "third" in line
    ]
    return float(value)


def test_the_answer_of_a_superseded_write_is_not_recorded_and_nothing_more_is_written(
    folder: Path, prometheus: str, third: ThirdParty
) -> None:
    """Its own request may still arrive; the successor scales the rest. Another connection is not affected."""
    config = configured(folder, prometheus, third, "scale", times=1)
    with running_daemon(config, env=third.env) as daemon:
        daemon.wait_for("shard_superseded", adapter="third")
        daemon.wait_for("decision", autoscaler="b", written=3)
        assert superseded(daemon) == 1
        assert third.notes("returns") == []
        daemon.wait_for("decision", autoscaler="web", count=3)
        third.release(1)
        daemon.wait_for("cycle_discarded", adapter="third")
        count = len(daemon.events("decision", autoscaler="a"))
        daemon.wait_for("decision", autoscaler="a", count=count + 2)
        assert daemon.stop() == 0
    ((_, _, stale),) = third.notes("returns", 1)
    assert [note[3] == stale for note in third.notes("writes", "a")] == [False, True]
    assert [note[3] == stale for note in third.notes("writes", "b")] == [False]
    for name in ("a", "b"):
        recorded = records(folder, name)
        assert stale not in [record.decision.now.isoformat() for record in recorded]
        assert_unbroken(recorded)
        assert [record.decision.written for record in recorded].count(3) == 1


def test_a_connection_abandons_at_most_three_threads(folder: Path, prometheus: str, third: ThirdParty) -> None:
    """A dead back end must not fill the process with threads. The connection continues when one of them ends."""
    config = configured(folder, prometheus, third, "scale", times=4)
    with running_daemon(config, env=third.env) as daemon:
        daemon.wait_for("shard_waits", adapter="third")
        assert len(daemon.events("shard_superseded", adapter="third")) == 3
        count = len(daemon.events("decision", autoscaler="web"))
        daemon.wait_for("decision", autoscaler="web", count=count + 2)
        assert len(third.notes("hangs")) == 4
        assert len(daemon.events("shard_waits")) == 1
        assert len(third.notes("built")) == 4
        third.release(2)
        daemon.wait_for("shard_superseded", adapter="third", count=4)
        daemon.wait_for("decision", autoscaler="b", written=3)
        assert superseded(daemon) == 4
        assert daemon.stop() == 0
