"""The daemon's status on the page and in the API."""

from pathlib import Path
from typing import Any

import pytest
import requests

from tests.daemon.running import autoscaler, running_daemon, write_config

pytestmark = pytest.mark.slow


def test_the_status_has_the_daemons_dependencies(folder: Path, prometheus: str) -> None:
    """First all servers answer, then a file is refused, then Prometheus is gone."""
    config = write_config(folder, prometheus, [autoscaler("web", "vector(2)")])
    with running_daemon(config) as daemon, requests.Session() as session:
        url = daemon.url

        def status() -> Any:
            return session.get(f"{url}/api/v1/status/daemon", timeout=30).json()["data"]

        daemon.wait_for("decision", written=2)
        daemon.until(lambda: status()["connections"][0]["lastCycle"] is not None, "a cycle that has ended")
        well = status()
        assert (well["level"], well["problems"], well["lastReload"]["successful"]) == ("normal", [], True)
        assert well["sources"][0]["lastSuccess"] is not None
        assert well["connections"][0]["lastSuccess"] is not None
        assert (well["connections"][0]["shards"], well["connections"][0]["hung"]) == (1, 0)

        config.write_text("{}")
        refused = daemon.post("/-/reload")
        assert refused.status_code >= 400
        assert "autoscaler.yaml:" in refused.text
        assert not status()["lastReload"]["successful"]
        assert "autoscaler.yaml:" in status()["lastReload"]["problem"]
        assert "autoscaler.yaml:" in daemon.get("/api/v1/autoscalers").json()["data"]["refusedReload"]["problem"]

        write_config(folder, "http://127.0.0.1:1", [autoscaler("web", "vector(2)")])
        assert daemon.post("/-/reload").status_code == 200
        assert daemon.get("/api/v1/autoscalers").json()["data"]["refusedReload"] is None
        daemon.until(lambda: "prometheus default does not answer" in status()["problems"], "the failing Prometheus")
        assert status()["lastReload"]["successful"]
        assert "refused" in status()["sources"][0]["error"]
        assert daemon.stop() == 0
