"""Failures around the daemon affect only what depends on them."""

import time
from pathlib import Path
from typing import Any

import pytest

from tests.daemon.hanging import install
from tests.daemon.running import autoscaler, running_daemon, write_config
from tests.servers.ports import free_port
from tests.servers.prometheus import running_prometheus

pytestmark = pytest.mark.slow


def hanging(where: str) -> dict[str, Any]:
    return {"third": {"type": "hanging", "where": where}}


def test_the_daemon_starts_during_an_outage_and_reports_it(folder: Path) -> None:
    """It is ready without Prometheus, and scales when Prometheus returns."""
    port = free_port()
    config = write_config(folder, f"http://127.0.0.1:{port}", [autoscaler("web", "vector(2)")])
    with running_daemon(config, service_manager=True) as daemon:
        line = daemon.wait_for("decision", level="warning", reason="FailedGetExternalMetric")
        assert (line["current"], line["desired"], line["written"]) == (1, None, None)
        assert line["metrics"][0]["value"] is None
        daemon.wait_until_told("READY=1")
        daemon.wait_until_told("STATUS=1 autoscaler on 1 connection; failing: web")
        (folder / "prometheus").mkdir()
        with running_prometheus(folder / "prometheus", port=port):
            daemon.wait_for("decision", written=2)
        assert daemon.stop() == 0


def test_when_every_shard_hangs_the_watchdog_restarts_the_daemon(folder: Path, prometheus: str) -> None:
    """Successors begin first. If they hang, too, only a restart can help."""
    stuck = autoscaler("stuck", "vector(3)", adapter="third", syncPeriod="1s")
    config = write_config(folder, prometheus, [stuck], hanging("scale"))
    with running_daemon(config, env={"WATCHDOG_USEC": "1000000", **install(folder)}, service_manager=True) as daemon:
        daemon.wait_for("shard_hung")

        def quiet() -> bool:
            """Return whether the main thread, which a reload shows at work, does not feed the watchdog."""
            fed = daemon.heard("WATCHDOG=1")
            for _ in range(3):
                time.sleep(0.3)  # it feeds it every quarter of a second
                daemon.reload(len(daemon.events("reloaded")) + 1)
            return daemon.heard("WATCHDOG=1") == fed

        daemon.until(quiet, "three reloads without WATCHDOG=1")
        assert daemon.stop() == 0
