"""A slow start succeeds, also beyond a lease. tests/daemon/test_runtime.py has adapters that never get ready."""

import pytest

from tests.daemon.hanging import ThirdParty
from tests.daemon.hosts import Hosts
from tests.daemon.running import autoscaler, running_daemon, write_config

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
