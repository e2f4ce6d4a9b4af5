"""The commands with a real daemon."""

import json
import os
import re
import signal
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from tests.cli.scene import UNREACHABLE
from tests.daemon.running import autoscaler, finished, running_daemon, workers, write_config

pytestmark = pytest.mark.slow


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """The daemon's folder. Workers that outlive the daemon are killed."""
    yield tmp_path
    for pid in workers(tmp_path):
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def test_an_operator_looks_pauses_overrides_and_resumes(folder: Path) -> None:
    """After the daemon has stopped, its state can still be read."""
    config = write_config(folder, UNREACHABLE, [autoscaler("web", "vector(3)")])
    state = folder / "state"
    with running_daemon(config, state=state) as daemon:
        env = {"AUTOSCALER_SERVER": f"unix://{daemon.control_socket}"}

        def run(*words: str) -> tuple[int, str, str]:
            done = finished([sys.executable, "-m", "autoscaler", *words], state, env)
            return done.returncode, done.stdout, done.stderr

        daemon.wait_for("decision", autoscaler="web")
        code, out, _ = run("get")
        assert code == 0
        row = r"^web +local/web +<unknown>/1 \(avg\) +1 +5 +1 +\d/1 +\d+s +queue has no value: "
        assert re.search(row + r"prometheus 'default' cannot be asked", out, re.MULTILINE)
        assert "has no value" in run("explain", "web")[1]
        assert run("pause", "web", "--direction", "in", "--reason", "deploy")[0] == 0
        assert re.search(r"^Paused: .*: deploy$", run("describe", "web")[1], re.MULTILINE)
        assert json.loads(run("get", "-o", "json")[1])["autoscalers"][0]["steering"]["pause"]["reason"] == "deploy"
        assert run("override", "web", "--min", "2")[0] == 0
        assert run("resume", "web", "--override")[1].startswith("web: scaling in is paused")
        assert daemon.stop() == 0
    code, out, err = run("describe", "web", "--config.file", str(config))
    assert (code, "no daemon answers" in err) == (0, True)
    assert "deploy" in out
    assert run("resume", "web")[0] == 1
