"""Whoever floods the daemon's HTTP server: what scales goes on, and the operator is still answered."""

import sys
from pathlib import Path

import pytest

from tests.daemon.flooding import decided, idle_connections, limit_descriptors, longest_gap, url_of
from tests.daemon.running import autoscaler, finished, running_daemon, write_config

pytestmark = pytest.mark.slow


def test_idle_connections_cost_no_query_and_no_answer(folder: Path, prometheus: str) -> None:
    """1,100 of them took every descriptor of 1,024: nothing scaled until they went, and 170,000 lines said so."""
    config = write_config(folder, prometheus, [autoscaler("web", "vector(2)")])
    with running_daemon(config) as daemon:
        limit_descriptors(daemon, 1024)
        daemon.wait_for("decision", written=2)
        url, before = url_of(daemon), len(daemon.log)
        with idle_connections(url, 1100):
            daemon.wait_for("connection_flood_began", most=512)
            shown = finished([sys.executable, "-m", "autoscaler", "get", f"--server={url}"], folder)
            assert (shown.returncode, "web" in shown.stdout) == (0, True), shown.stderr
            daemon.wait_for("decision", count=len(daemon.events("decision")) + 5)
        lines = daemon.log[before:]
        assert len([line for line in lines if line["event"] != "decision"]) < 5
        assert all(line["level"] == "info" for line in lines if line["event"] == "decision")
        assert longest_gap(decided(daemon, "web")) < 2
        assert daemon.wait_for("connection_flood_ended")["refused"] >= 1100 - 512
        assert daemon.stop() == 0
