"""A state that is moved or deleted under a running daemon takes no commit: it would be lost at the next start."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.daemon.running import autoscaler, running_daemon, write_config

pytestmark = pytest.mark.slow
PAUSE = "/api/v1/autoscalers/web/pause"


def move(path: Path) -> None:
    path.rename(path.with_name(f"{path.name}.elsewhere"))


def replace_by_a_copy(path: Path) -> None:
    shutil.copy(path, f"{path}.copy")
    Path(f"{path}.copy").replace(path)


@pytest.mark.parametrize(
    "harm",
    [
        pytest.param(lambda state: move(state / "state.db"), id="moved"),
        pytest.param(lambda state: (state / "state.db").unlink(), id="deleted"),
        pytest.param(lambda state: replace_by_a_copy(state / "state.db"), id="copied"),
        pytest.param(lambda state: (state / "state.db-wal").unlink(), id="log"),
        pytest.param(lambda state: (state / "state.db-shm").unlink(), id="index"),
        pytest.param(lambda state: (state / "state.db.lock").unlink(), id="lock"),
        pytest.param(move, id="folder-moved"),
        pytest.param(lambda state: shutil.rmtree(state, ignore_errors=True), id="folder-deleted"),
    ],
)
def test_nothing_is_scaled_or_paused_by_a_daemon_whose_state_is_gone(
    folder: Path, prometheus: str, harm: Callable[[Path], Any]
) -> None:
    """A pause that was answered with 200 was gone after the restart, and a second daemon started beside the first."""
    config = write_config(
        folder,
        prometheus,
        [autoscaler("web", "vector(2) and on() (vector(time()) > 0) or vector(1)", adapter="third")],
        {"third": {"type": "memory", "groups": {"web": {}}}},
    )
    with running_daemon(config) as daemon:
        daemon.wait_for("decision", autoscaler="web", written=2)
        harm(folder / "state")
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
        assert daemon.stop() == 0


def test_a_file_that_is_put_back_is_used_again(folder: Path, prometheus: str) -> None:
    """Nothing was committed meanwhile, so nothing is missing."""
    config = write_config(folder, prometheus, [autoscaler("web", "vector(2)")])
    database = folder / "state" / "state.db"
    with running_daemon(config) as daemon:
        daemon.wait_for("decision", autoscaler="web", written=2)
        database.rename(folder / "elsewhere.db")
        daemon.wait_for("state_failed")
        (folder / "elsewhere.db").rename(database)
        daemon.until(lambda: daemon.post(PAUSE, {"direction": "out"}).status_code == 200, "the pause")
        count = len(daemon.events("decision", autoscaler="web"))
        daemon.wait_for("decision", autoscaler="web", count=count + 2)
        assert daemon.stop() == 0


def test_the_first_daemon_writes_no_size_beside_a_second_one(folder: Path, prometheus: str) -> None:
    """The lock went with the folder, so the second one starts; the first one's intents cannot be committed."""
    config = write_config(folder, prometheus, [autoscaler("web", "vector(2)", adapter="third")])
    document = config.read_text()
    memory = "adapters:\n  third:\n    type: memory\n    groups:\n      web: {}\n"
    config.write_text(document.replace("adapters: {}\n", memory))
    with running_daemon(config) as first:
        first.wait_for("decision", autoscaler="web", written=2)
        shutil.rmtree(folder / "state", ignore_errors=True)
        with running_daemon(config) as second:
            second.wait_for("decision", autoscaler="web", written=2)
            config.write_text(config.read_text().replace("vector(2)", "vector(4)"))
            first.post("/-/reload")
            first.wait_for("cycle_failed", count=len(first.events("cycle_failed")) + 3)
            assert first.events("decision", autoscaler="web", written=4) == []
            assert second.stop() == 0
        assert first.stop() == 0
