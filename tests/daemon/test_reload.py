"""SIGHUP loads the file. An invalid file changes nothing."""

import signal
import sqlite3
from contextlib import ExitStack, closing
from pathlib import Path

import pytest
import requests

from tests.daemon.running import autoscaler, running_daemon, workers, write_config

pytestmark = pytest.mark.slow


def test_a_reload_applies_changes_and_continues_the_rest(folder: Path, prometheus: str) -> None:
    """Another query applies to the same adapter and the same workers."""
    config = write_config(folder, prometheus, [autoscaler("web", "vector(2)")])
    with running_daemon(config) as daemon:
        daemon.wait_for("decision", written=2)
        daemon.until(lambda: len(workers(folder)) == 2, "two workers")
        before = workers(folder)
        write_config(folder, prometheus, [autoscaler("web", "vector(4)")])
        daemon.send(signal.SIGHUP)
        daemon.wait_for("reloaded", autoscalers=1)
        daemon.wait_for("decision", written=4)
        daemon.until(lambda: len(workers(folder)) == 4, "four workers")
        assert before < workers(folder)
        assert daemon.events("workers_found_again") == []  # the adapter was not rebuilt
        assert daemon.stop() == 0


def test_a_smaller_limit_of_answers_is_applied(folder: Path, prometheus: str) -> None:
    """The message names the key."""
    note = f'label_replace(vector(2), "note", "{"x" * 30_000}", "", "")'
    large = f'label_replace({note}, "longer", "$1$1$1", "note", "(.*)")'
    config = write_config(folder, prometheus, [autoscaler("web", large)])
    with running_daemon(config) as daemon:
        daemon.wait_for("decision", written=2)
        write_config(folder, {"default": {"url": prometheus, "maxAnswer": "64KiB"}}, [autoscaler("web", large)])
        daemon.send(signal.SIGHUP)
        line = daemon.wait_for("decision", reason="FailedGetExternalMetric")
        assert "more than 0.0625 MiB; aggregate in the expression, split a shared query by" in line["message"]
        assert line["message"].endswith("or raise its maxAnswer")
        assert daemon.stop() == 0


def test_an_invalid_file_changes_nothing(folder: Path, prometheus: str) -> None:
    """Each of its problems is a line of the log, so that one edit can fix all. A missing file is one line."""
    config = write_config(folder, prometheus, [autoscaler("web", "vector(2)")])
    with running_daemon(config, service_manager=True) as daemon:
        daemon.wait_for("ready")
        write_config(folder, prometheus, [autoscaler("web", "vector(2", minReplicas=9), autoscaler("web", "vector(2)")])
        daemon.send(signal.SIGHUP)
        assert "autoscaler.yaml:" in daemon.wait_for("reload_failed", count=2, level="error")["error"]
        daemon.wait_until_told("READY=1", count=2)
        count = len(daemon.events("reload_failed"))
        config.unlink()
        daemon.send(signal.SIGHUP)
        assert "autoscaler.yaml:1:1" in daemon.wait_for("reload_failed", count=count + 1)["error"]
        daemon.wait_for("decision", count=len(daemon.events("decision")) + 2)
        assert daemon.stop() == 0


def test_a_reload_while_the_state_is_locked_applies_everywhere(folder: Path, prometheus: str) -> None:
    """Page, metrics and API show the file that cycles use. Refused shards begin when the state is unlocked."""
    fleet = {"type": "memory", "groups": {"queue": {}}}
    config = write_config(folder, prometheus, [autoscaler("web", "vector(2)")], {"fleet": fleet})
    with running_daemon(config) as daemon, ExitStack() as leaving:
        url = daemon.url
        daemon.wait_for("decision", autoscaler="web", written=2)
        other = leaving.enter_context(closing(sqlite3.connect(folder / "state" / "state.db", isolation_level=None)))
        other.execute("BEGIN IMMEDIATE")
        new = [autoscaler("web", "vector(3)"), autoscaler("queue", "vector(2)", adapter="fleet")]
        write_config(folder, prometheus, new, {"fleet": fleet})
        daemon.send(signal.SIGHUP)
        assert "locked" in daemon.wait_for("shard_not_begun", adapter="fleet")["error"]
        daemon.wait_for("reloaded", autoscalers=2)
        listed = requests.get(f"{url}/api/v1/autoscalers", timeout=30).json()["data"]
        assert {each["name"] for each in listed["autoscalers"]} == {"web", "queue"}
        assert listed["refusedReload"] is None
        assert 'autoscaler="queue"' in requests.get(f"{url}/metrics", timeout=30).text
        other.execute("ROLLBACK")
        daemon.wait_for("decision", autoscaler="queue", written=2)
        daemon.wait_for("decision", autoscaler="web", written=3)
        assert daemon.events("reload_failed") == []
        assert daemon.stop() == 0


def test_a_reload_cannot_move_the_state(folder: Path, prometheus: str) -> None:
    """Autoscalers would lose their memory."""
    config = write_config(folder, prometheus, [autoscaler("web", "vector(2)")])
    with running_daemon(config) as daemon:
        daemon.wait_for("ready")
        state = {"url": f"sqlite:///{folder}/other.db"}
        write_config(folder, prometheus, [autoscaler("web", "vector(2)")], state=state)
        daemon.send(signal.SIGHUP)
        assert "restart the daemon" in daemon.wait_for("reload_failed")["error"]
        assert daemon.stop() == 0
