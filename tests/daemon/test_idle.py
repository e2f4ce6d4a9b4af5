"""A real daemon whose target is idle, as operators see it."""

import signal
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.daemon.running import autoscaler, external, finished, running_daemon, write_config

pytestmark = pytest.mark.slow


def configured(folder: Path, prometheus: str, query: str) -> Path:
    metric: dict[str, Any] = external(query)
    metric["external"]["activation"] = 5
    scaler = autoscaler("mail", query, metrics=[metric], minReplicas=2, maxReplicas=9, idleReplicas=0, cooldown="2s")
    return write_config(folder, prometheus, [scaler])


def test_an_idle_target_has_no_workers_until_something_is_active(folder: Path, prometheus: str) -> None:
    """Also after a restart: the daemon knows the zero for its own."""
    config = configured(folder, prometheus, "vector(5)")
    with running_daemon(config) as daemon:
        daemon.wait_for("decision", current=0, desired=0, reason="Idle")
        said = {
            words[0]: finished(
                [sys.executable, "-m", "autoscaler", *words, f"--server={daemon.url}"], folder / "state"
            ).stdout
            for words in (["get", "-o", "wide"], ["describe", "mail"], ["explain", "mail"])
        }
        assert " idle" in said["get"]
        assert "0, 2s after the last activity" in said["describe"]
        assert "above 5" in said["describe"]
        assert "To scale out it takes queue above 5; at the earliest to 2 in 1s." in said["explain"]
        page = daemon.get("/autoscalers/mail").text
        assert "0, 2s after the last activity" in page
        assert "active above 5" in page
        assert "no metric is above its activation" in page
        assert daemon.stop() == 0
    with running_daemon(config) as daemon:
        daemon.wait_for("decision", current=0, desired=0)
        configured(folder, prometheus, "vector(6)")
        daemon.send(signal.SIGHUP)
        daemon.wait_for("decision", written=2)
        daemon.wait_for("decision", current=2)
        assert daemon.stop() == 0
