"""The log of a running daemon: which decisions it has, and which it omits."""

import signal
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from autoscaler.log.decisions import MAX_NEWS
from tests.daemon.running import LATE, autoscaler, run_once, running_daemon, write_config

pytestmark = pytest.mark.slow
QUIET = {"log": {"decisions": "changed"}}


def test_at_the_level_warning_a_write_is_logged_and_a_start_is_not(folder: Path, prometheus: str) -> None:
    """Writes to the back end are logged at every level that shows warnings."""
    config = write_config(folder, prometheus, [autoscaler("web", "vector(3)")], **QUIET)
    with running_daemon(config, "--log.level=warning", service_manager=True) as daemon:
        daemon.wait_for("decision", written=3, level="info")
        daemon.wait_until_told("READY=1")
        assert {line["event"] for line in daemon.log} - LATE == {"decision"}
        assert daemon.stop() == 0


def test_a_reload_can_change_what_is_logged(folder: Path, prometheus: str) -> None:
    """More details for a while need no restart."""
    scalers = [autoscaler("web", "vector(1)")]
    config = write_config(folder, prometheus, scalers, **QUIET)
    with running_daemon(config) as daemon:
        daemon.wait_for("decision", autoscaler="web")
        write_config(folder, prometheus, scalers, log={"decisions": "all"})
        daemon.send(signal.SIGHUP)
        daemon.wait_for("decision", count=4, autoscaler="web")
        write_config(folder, prometheus, [*scalers, autoscaler("new", "vector(1)")], **QUIET)
        daemon.send(signal.SIGHUP)
        daemon.wait_for("decision", autoscaler="new")
        assert daemon.stop() == 0


def many(*more: Mapping[str, Any]) -> tuple[Sequence[Mapping[str, Any]], dict[str, Any]]:
    """Return a connection, and its autoscalers: `more`, and calm ones, so many that the log summarizes them.

    The period is long enough for a busy machine.
    """
    calm = [autoscaler(f"web-{number}", "vector(1)", "fleet") for number in range(MAX_NEWS)]
    scalers = [{**scaler, "syncPeriod": "1m"} for scaler in (*calm, *more)]
    groups: dict[str, Any] = {scaler["name"]: {} for scaler in scalers}
    return scalers, {"fleet": {"type": "memory", "groups": groups}}


def test_a_single_cycle_logs_all(folder: Path, prometheus: str) -> None:
    """Operators run it to read its log."""
    scalers, adapters = many(autoscaler("job", "vector(1)", "fleet"))
    ended = run_once(write_config(folder, prometheus, scalers, adapters, **QUIET))
    assert ended.stderr.count('"event": "decision"') == MAX_NEWS + 1
