"""A slow start succeeds, also beyond a lease. An adapter that never gets ready costs its own autoscalers."""

from pathlib import Path

import pytest

from tests.daemon.hanging import ThirdParty
from tests.daemon.hosts import Hosts
from tests.daemon.running import autoscaler, external, running_daemon, write_config

pytestmark = pytest.mark.slow

_SHORT = {"leaseDuration": "6s", "renewDeadline": "5s", "retryPeriod": "300ms"}


def test_a_daemon_whose_adapter_is_slow_to_build_starts(hosts: Hosts) -> None:
    """Ten thousand autoscalers or a busy machine take as long. If the lease ended meanwhile, each start would fail."""
    third = ThirdParty(hosts.folder)
    scalers = [autoscaler("web", "vector(3)", adapter="third")]
    section = third.section("build", seconds=7.5)
    config = write_config(hosts.folder, hosts.prometheus, scalers, section, state={"url": hosts.url}, ha=_SHORT)
    with running_daemon(config, env=third.env) as daemon:
        daemon.wait_for("ready")
        daemon.wait_for("decision", written=3)
        lost = [name for name in ("lease_lost", "shard_not_begun", "shard_left_behind") if daemon.events(name)]
        assert lost == []
        assert daemon.stop() == 0


def test_an_adapter_whose_constructor_never_returns_costs_its_own_autoscalers_alone(
    tmp_path: Path, prometheus: str
) -> None:
    """At the start, at a reload of the neighbours and when the constructor returns at last."""
    third = ThirdParty(tmp_path)
    web, other = autoscaler("web", "vector(3)"), autoscaler("other", "vector(2)", adapter="third")
    config = write_config(tmp_path, prometheus, [web, other], third.section("build"))
    with running_daemon(config, env=third.env) as daemon:
        refused = daemon.wait_for("shard_not_begun")
        assert refused["adapter"] == "third"
        assert "the adapter's constructor has not returned within 10 s" in refused["error"]
        daemon.wait_for("ready")
        daemon.wait_for("decision", autoscaler="web", written=3)
        web["metrics"] = [external("vector(4)")]
        write_config(tmp_path, prometheus, [web, other], third.section("build"))
        daemon.reload()
        daemon.wait_for("decision", autoscaler="web", written=4)
        assert len(third.notes("hangs")) == 1, "each attempt waits for the same call"
        third.release(1)
        daemon.wait_for("decision", autoscaler="other", written=2)
        assert daemon.stop() == 0
