"""The life of a service: the daemon's reactions to signals, and its messages to the service manager."""

import signal
from pathlib import Path

import pytest

from bench import alone
from tests.daemon.running import autoscaler, running_daemon, workers, write_config

pytestmark = pytest.mark.slow


def test_the_service_manager_gets_each_change_of_the_daemons_state(folder: Path, prometheus: str) -> None:
    """The order of sd_notify(3), on a real socket."""
    config = write_config(folder, prometheus, [autoscaler("web", "vector(1)", syncPeriod="30s")])
    with running_daemon(config, env={"WATCHDOG_USEC": "2000000"}, service_manager=True) as daemon:
        daemon.wait_until_told("READY=1")
        assert daemon.events("decision"), "ready means that the first cycle has ended, or has taken 30 s"
        daemon.wait_until_told("WATCHDOG=1", count=3)
        daemon.send(signal.SIGHUP)
        daemon.wait_until_told("READY=1", count=2)
        assert daemon.stop() == 0
        assert daemon.heard("STOPPING=1") == 1
        assert daemon.heard("STATUS=1 autoscaler on 1 connection") == 1
    turns = [message.partition("=")[0] for message in daemon.told if not message.startswith(("WATCHDOG", "STATUS"))]
    assert turns == ["READY", "RELOADING", "READY", "STOPPING"]
    (reloading,) = [message for message in daemon.told if message.startswith("RELOADING")]
    assert reloading.splitlines()[1].startswith("MONOTONIC_USEC=")


def test_after_a_kill_and_a_restart_it_remembers_everything(folder: Path, prometheus: str) -> None:
    """Its workers are the same, and the one step in five minutes that the policy allows is already used."""
    policy = {"scaleUp": {"policies": [{"type": "Pods", "value": 1, "periodSeconds": 300}]}}
    config = write_config(folder, prometheus, [autoscaler("web", "vector(3)", behavior=policy)])
    with running_daemon(config) as daemon:
        daemon.wait_for("decision", written=2)
        daemon.until(lambda: len(workers(folder)) == 2, "two workers")
        before = workers(folder)
        daemon.stop(signal.SIGKILL)
    assert workers(folder) == before
    with running_daemon(config) as daemon:
        line = daemon.wait_for("decision", count=2, level="info")
        assert (line["current"], line["desired"], line["reason"]) == (2, 2, "ScaleUpLimit")
        assert daemon.events("workers_found_again")
        assert workers(folder) == before


def test_an_idle_daemon_is_small(folder: Path, prometheus: str) -> None:
    """It shares a small machine with its targets: docs/internals/performance.md has the figure."""
    config = write_config(folder, prometheus, [autoscaler("web", "vector(1)")])
    with running_daemon(config, program=alone.program()) as daemon:
        daemon.wait_for("decision", count=3)
        status = Path(f"/proc/{daemon.process.pid}/status").read_text()
        (kilobytes,) = [int(line.split()[1]) for line in status.splitlines() if line.startswith("VmRSS")]
        assert kilobytes < 84 * 1024
