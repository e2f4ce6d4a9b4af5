"""A connection's targets are in several shards. A hanging call affects only its shard, and the number may change."""

from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from signal import SIGKILL
from typing import Any

import pytest

from autoscaler.model import ScaleEvent
from tests.daemon.hanging import ThirdParty
from tests.daemon.running import LATE, RunningDaemon, autoscaler, running_daemon, write_config
from tests.daemon.state import announced, assert_unbroken, epochs, records

SHARD_OF = {"a": 4, "b": 2, "c": 3, "d": 1}
"""Each of these targets is alone in one of four shards."""


def configured(
    folder: Path, prometheus: str, adapters: dict[str, Any], query: str = "vector(3)", adapter: str = "third"
) -> Path:
    """Write a configuration of four autoscalers on a connection, and one on another."""
    policies = {"scaleUp": {"policies": [{"type": "Pods", "value": 4, "periodSeconds": 60}]}}
    scalers = [autoscaler(name, query, adapter=adapter, behavior=policies) for name in SHARD_OF]
    return write_config(folder, prometheus, [*scalers, autoscaler("web", "vector(2)")], adapters)


def hanging(third: ThirdParty, where: str, shards: int, target: str, **more: Any) -> dict[str, Any]:
    return third.section(where, times=1, target=target, shards=shards, **more)


def memory(shards: int) -> dict[str, Any]:
    """Return a connection whose sizes outlive the daemon."""
    return {"fleet": {"type": "memory", "shards": shards, "groups": {name: {} for name in SHARD_OF}}}


def further_cycles(daemon: RunningDaemon, names: Sequence[str], count: int = 2) -> None:
    """Wait until each of these autoscalers has so many more decisions."""
    before = {name: len(daemon.events("decision", autoscaler=name)) for name in names}
    for name, seen in before.items():
        daemon.wait_for("decision", autoscaler=name, count=seen + count)


@pytest.mark.slow
def test_the_log_and_the_status_name_a_hanging_shard_and_the_metrics_its_connection(
    folder: Path, prometheus: str, third: ThirdParty
) -> None:
    """Operators look for the back end first, then for its targets."""
    config = configured(folder, prometheus, hanging(third, "scale", shards=4, target="b"))
    with running_daemon(config, env=third.env, service_manager=True) as daemon:
        daemon.wait_for("shard_hung", adapter="third", shard=SHARD_OF["b"])
        shown = daemon.metrics()
        daemon.wait_until_told(f"STATUS=5 autoscalers on 2 connections; hanging: third/{SHARD_OF['b']}")
        third.release(1)
        daemon.wait_for("shard_recovered", adapter="third", shard=SHARD_OF["b"])
        daemon.wait_for("decision", autoscaler="b", current=3)
        assert daemon.stop() == 0
    assert 'autoscaler_shard_hung{adapter="third"} 1.0' in shown
    assert 'autoscaler_shard_hung{adapter="local"} 0.0' in shown
    assert 'autoscaler_tick_duration_seconds_count{adapter="third"}' in shown


@pytest.mark.slow
def test_a_reload_can_change_the_number_of_shards_without_loss(folder: Path, prometheus: str) -> None:
    """The number is 1, then 4, then 2 after a kill. Only a window of 5 minutes holds the sizes."""
    with running_daemon(configured(folder, prometheus, memory(1), adapter="fleet")) as daemon:
        for name in SHARD_OF:
            daemon.wait_for("decision", autoscaler=name, written=3)
        local = epochs(folder, "local")
        configured(folder, prometheus, memory(4), "vector(1)", adapter="fleet")
        daemon.reload()
        further_cycles(daemon, [*SHARD_OF, "web"])
        assert {line["event"] for line in daemon.log if line["level"] == "error"} <= LATE
        assert epochs(folder, "local") == local != {}
        daemon.send(SIGKILL)
        daemon.process.wait()
    with running_daemon(configured(folder, prometheus, memory(4), "vector(1)", adapter="fleet")) as daemon:
        further_cycles(daemon, list(SHARD_OF))
        local = epochs(folder, "local")
        configured(folder, prometheus, memory(2), "vector(1)", adapter="fleet")
        daemon.reload()
        further_cycles(daemon, [*SHARD_OF, "web"])
        assert epochs(folder, "local") == local != {}
        assert epochs(folder, "fleet").keys() <= {1, 2}
        assert daemon.stop() == 0
    for name in SHARD_OF:
        recorded = records(folder, name)
        written = [record.decision.written for record in recorded]
        assert [size for size in written if size is not None] == [3]
        since = recorded[written.index(3) + 1 :]  # a busy machine decides only in a later cycle, or reads too late
        assert {record.decision.current for record in since} <= {3, None}
        assert_unbroken(recorded)


@pytest.mark.slow
def test_a_write_that_hangs_while_the_number_of_shards_changes_is_counted_once(
    folder: Path, prometheus: str, third: ThirdParty
) -> None:
    """One shard announces it, and the next two shards of its target remember it."""
    config = configured(folder, prometheus, hanging(third, "scale", shards=1, target="a"))
    with running_daemon(config, env=third.env) as daemon:
        daemon.until(lambda: third.notes("hangs", 1) != [], "a write under way")
        paused = daemon.post("/api/v1/autoscalers/a/pause", {"direction": "out"})
        assert paused.status_code == 200
        for count, shards in enumerate((4, 2), start=1):
            configured(folder, prometheus, hanging(third, "scale", shards=shards, target="a"))
            daemon.reload(count)
            further_cycles(daemon, list(SHARD_OF))
            assert announced(folder).keys() == {"a"}
        third.release(1)
        daemon.wait_for("decision", autoscaler="a", current=3, count=2)
        assert daemon.stop() == 0
    began = datetime.fromisoformat(third.notes("hangs", 1)[0][2])
    history = records(folder, "a")[-1].history
    assert history is not None
    assert (history.pending, history.hpa.scale_ups) == (None, (ScaleEvent(2, began),))
    assert {name: len(third.notes("writes", name)) for name in SHARD_OF} == dict.fromkeys(SHARD_OF, 1)
    assert announced(folder) == {}
