"""An upgrade to a version with other tables, and the way back, as docs/operations.md says.

The newer version is this one with one more step of the schema. tests/record/test_migrations.py has several hosts.
"""

from functools import partial
from pathlib import Path
from typing import Any, Final

import pytest

from tests.daemon.running import (
    RunningDaemon,
    autoscaler,
    external,
    run_command,
    run_to_its_end,
    running_daemon,
    write_config,
)

pytestmark = pytest.mark.slow

_NEWER: Final = (
    "-c",
    """
import runpy
from sqlalchemy import text
from autoscaler.record import schema, versions
step = lambda connection: connection.execute(text("ALTER TABLE event ADD COLUMN extra TEXT"))
versions.MIGRATIONS = {**versions.MIGRATIONS, schema.VERSION: step}
schema.VERSION += 1
runpy.run_module("autoscaler", run_name="__main__")
""",
)
_PEAK, _LOW = 5, 1
_WINDOW: Final = {"scaleDown": {"stabilizationWindowSeconds": 600}}


def of_load(load: int) -> dict[str, Any]:
    """Return what an autoscaler has with this load."""
    return {"metrics": [external(f"vector({load})")], "behavior": _WINDOW}


def assert_the_window_holds(daemon: RunningDaemon) -> None:
    """The load is low, and what was recommended at the peak is remembered."""
    wait = partial(daemon.wait_for, "decision", autoscaler="web", level="info")
    assert {wait(count)["desired"] for count in (1, 2, 3)} == {_PEAK}


def test_one_host_is_upgraded_and_goes_back(folder: Path, prometheus: str) -> None:
    def configured(load: int) -> Path:
        web = autoscaler("web", "", adapter="fleet", **of_load(load))
        return write_config(folder, prometheus, [web], {"fleet": {"type": "memory", "groups": {"web": {}}}})

    def run(*words: str) -> None:
        done = run_command(*words, f"--config.file={config}", state=folder / "state")
        assert done.returncode == 0, done.stderr

    config, saved = configured(_PEAK), str(folder / "saved.db")
    with running_daemon(config) as daemon:
        daemon.wait_for("decision", autoscaler="web", written=_PEAK)
        run("backup", saved)
        configured(_LOW)
        assert daemon.stop() == 0
    with running_daemon(config, program=_NEWER) as daemon:
        assert_the_window_holds(daemon)
        assert daemon.get("/api/v1/autoscalers/web/explain").status_code == 200
        assert daemon.stop() == 0
    refused = run_to_its_end(config)
    assert refused.returncode == 1
    assert "was written by a newer version" in refused.stderr
    run("restore", "--replace", saved)
    with running_daemon(config) as daemon:
        assert_the_window_holds(daemon)
        assert daemon.stop() == 0
