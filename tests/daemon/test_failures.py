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


def test_an_adapter_that_hangs_delays_no_other_connection(folder: Path, prometheus: str) -> None:
    """The daemon is ready, feeds its watchdog and ends in time, with a third party's adapter that hangs for ever."""
    scalers = [autoscaler("stuck", "vector(3)", adapter="third"), autoscaler("web", "vector(2)")]
    config = write_config(folder, prometheus, scalers, hanging("observe"))
    with running_daemon(config, env={"WATCHDOG_USEC": "1000000", **install(folder)}, service_manager=True) as daemon:
        daemon.wait_for("decision", autoscaler="web", count=8)
        daemon.wait_until_told("READY=1")
        fed = daemon.heard("WATCHDOG=1")
        daemon.wait_until_told("WATCHDOG=1", count=fed + 4)
        line = daemon.wait_for("decision", autoscaler="stuck")
        assert (line["current"], line["reason"]) == (None, "FailedGetScale")
        assert daemon.stop() == 0
        web = [line["timestamp"] for line in daemon.events("decision", autoscaler="web")]
        assert len(set(web)) == len(web)


def test_when_every_shard_hangs_the_watchdog_restarts_the_daemon(folder: Path, prometheus: str) -> None:
    """Successors begin first. If they hang, too, only a restart can help."""
    config = write_config(folder, prometheus, [autoscaler("stuck", "vector(3)", adapter="third")], hanging("scale"))
    with running_daemon(config, env={"WATCHDOG_USEC": "1000000", **install(folder)}, service_manager=True) as daemon:
        daemon.wait_for("shard_hung")
        fed, quiet_since = daemon.heard("WATCHDOG=1"), time.monotonic()

        def quiet() -> bool:
            nonlocal fed, quiet_since
            if (now_fed := daemon.heard("WATCHDOG=1")) != fed:
                fed, quiet_since = now_fed, time.monotonic()
            return time.monotonic() - quiet_since > 4

        daemon.until(quiet, "four seconds without WATCHDOG=1")
        assert daemon.stop() == 0
