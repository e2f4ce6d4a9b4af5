"""A reload replaces shards between two cycles: nothing is lost, written twice or recorded late."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.daemon.hanging import ThirdParty
from tests.daemon.running import RunningDaemon, autoscaler, running_daemon, write_config
from tests.daemon.state import assert_unbroken, records

pytestmark = pytest.mark.slow

ON_THIRD = autoscaler("a", "vector(3)", adapter="third")


def unsound(daemon: RunningDaemon) -> list[str]:
    """Return the events of the log about a disturbed cycle."""
    bad = ("cycle_discarded", "cycle_failed", "autoscaler_failed", "adapter_failed")
    return [line["event"] for line in daemon.log if line["event"] in bad]


def written(third: ThirdParty, name: str) -> Sequence[str]:
    return [size for _, _, size, _ in third.notes("writes", name)]


def test_a_changed_section_waits_for_the_running_cycle(folder: Path, prometheus: str, third: ThirdParty) -> None:
    """The running write is answered and recorded, then the old adapter is closed."""
    slow = {"times": 1, "seconds": 0.6}
    scaler = ON_THIRD | {"syncPeriod": "5s"}
    config = write_config(folder, prometheus, [scaler], third.section("scale", **slow))
    with running_daemon(config, env=third.env) as daemon:
        daemon.until(lambda: third.notes("hangs", 1) != [], "a write under way")
        write_config(folder, prometheus, [scaler], third.section("scale", label="new", **slow))
        daemon.reload()
        daemon.wait_for("decision", autoscaler="a", count=3)
        assert daemon.events("cycle_discarded") == []
        assert len(daemon.events("decision", autoscaler="a", written=3)) == 1
        assert daemon.stop() == 0
    assert written(third, "a") == ["3"]
    assert_unbroken(records(folder, "a"))


def test_a_source_can_be_renamed_in_the_middle_of_a_cycle(folder: Path, prometheus: str, third: ThirdParty) -> None:
    """The running cycle keeps its sources. It once failed with KeyError 'default'."""
    section = third.section("observe", seconds=0.3)

    def of(source: str) -> Path:
        scaler = autoscaler("a", "vector(3)", adapter="third", syncPeriod="2s")
        scaler["metrics"][0]["external"]["query"]["prometheus"] = source
        return write_config(folder, {source: {"url": prometheus, "timeout": "1s"}}, [scaler], section)

    with running_daemon(of("one"), env=third.env) as daemon:
        daemon.wait_for("decision", autoscaler="a", written=3)
        for count, source in enumerate(("two", "three", "four", "five"), start=1):
            hung = len(third.notes("hangs"))
            daemon.until(lambda hung=hung: len(third.notes("hangs")) > hung, "a cycle under way")  # type: ignore[misc]  # a lambda's default
            of(source)
            daemon.reload(count)
        seen = len(daemon.events("decision", autoscaler="a"))
        daemon.wait_for("decision", autoscaler="a", count=seen + 2)
        assert daemon.stop() == 0
        assert "KeyError" not in str(daemon.log)
        assert unsound(daemon) == []
