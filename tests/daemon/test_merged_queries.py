"""Autoscalers whose expressions are sent as one query, in the real daemon."""

import signal
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import requests

from tests.daemon.running import autoscaler, run_command, running_daemon, write_config
from tests.observe.scripted import Answer, answered, scripted
from tests.waiting import PATIENCE_SECONDS

pytestmark = pytest.mark.slow


def test_a_heavy_query_affects_only_its_own_autoscaler_and_is_named(folder: Path) -> None:
    """The API, the page, the metrics and `status` name it."""
    over = threading.Event()

    def answer(groups: Sequence[str]) -> Answer:
        if "g5" in groups:
            over.wait(PATIENCE_SECONDS)
        return answered(groups)

    with scripted() as server:
        server.answer = answer
        scalers = [autoscaler(f"g{number}", f'load{{group="g{number}"}}', syncPeriod="4s") for number in (2, 3, 5)]
        file = write_config(folder, {"default": {"url": server.url, "timeout": "2s"}}, scalers)
        with running_daemon(file) as daemon, requests.Session() as session:
            url = daemon.url

            def read(path: str) -> requests.Response:
                return session.get(url + path, timeout=30)

            def source() -> Any:
                return read("/api/v1/status/daemon").json()["data"]["sources"][0]

            daemon.wait_for("decision", autoscaler="g2", written=2)
            daemon.wait_for("decision", autoscaler="g3", written=3)
            daemon.until(lambda: source()["queriesAlone"] > 0, "the heavy one")
            (alone,) = source()["askedAlone"]
            assert (alone["query"], alone["reason"], alone["autoscalers"]) == ('load{group="g5"}', "heavy", ["g5"])
            assert "did not answer within" in alone["said"]
            gauge = 'autoscaler_queries_asked_alone{prometheus="default",reason="heavy"} 1.0'
            assert gauge in read("/metrics").text.splitlines()
            assert "g5, heavy: <code>load{group=&#34;g5&#34;}</code>" in read("/status").text
            shown = run_command("status", state=folder / "state", env={"AUTOSCALER_SERVER": url}).stdout.splitlines()
            assert "prometheus default: 1 sent alone, until cheap for ten minutes" in shown
            assert '  g5, heavy: load{group="g5"}' in shown

            write_config(folder, {"default": {"url": server.url, "timeout": "2s"}}, scalers[:2])
            daemon.send(signal.SIGHUP)
            daemon.until(lambda: source()["queriesAlone"] == 0, "the autoscaler that was removed to be forgotten")
            over.set()
            assert daemon.stop() == 0
