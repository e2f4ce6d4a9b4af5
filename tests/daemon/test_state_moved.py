"""A state that is moved or deleted under a running daemon; tests/record/test_state_files.py has all ways."""

from pathlib import Path

import pytest

from tests.daemon.running import autoscaler, running_daemon, write_config

pytestmark = pytest.mark.slow
PAUSE = "/api/v1/autoscalers/web/pause"


def test_nothing_is_scaled_or_paused_while_the_state_s_file_is_gone(folder: Path, prometheus: str) -> None:
    """Nothing is committed meanwhile, so nothing is missing when it is put back."""
    config = write_config(
        folder,
        prometheus,
        [autoscaler("web", "vector(2) and on() (vector(time()) > 0) or vector(1)", adapter="third")],
        {"third": {"type": "memory", "groups": {"web": {}}}},
    )
    database = folder / "state" / "state.db"
    with running_daemon(config) as daemon:
        daemon.wait_for("decision", autoscaler="web", written=2)
        database.rename(folder / "elsewhere.db")
        refused = daemon.post(PAUSE, {"direction": "out"})
        assert refused.status_code == 503
        assert "was moved, deleted or replaced while the daemon uses it" in refused.json()["error"]
        line = daemon.wait_for("state_failed", level="error")
        assert "put the file back, or restart the daemon" in line["error"]
        daemon.until(lambda: "autoscaler_state_up 0.0" in daemon.metrics(), "the metric")
        status = daemon.get("/api/v1/status/daemon").json()["data"]
        assert status["level"] == "error"
        assert "was moved, deleted or replaced" in status["problems"][0]
        before = len(daemon.events("decision", autoscaler="web"))
        daemon.wait_for("cycle_failed", count=len(daemon.events("cycle_failed")) + 2)
        assert len(daemon.events("decision", autoscaler="web")) <= before
        (folder / "elsewhere.db").rename(database)
        daemon.until(lambda: daemon.post(PAUSE, {"direction": "out"}).status_code == 200, "the pause")
        count = len(daemon.events("decision", autoscaler="web"))
        daemon.wait_for("decision", autoscaler="web", count=count + 2)
        assert daemon.stop() == 0
