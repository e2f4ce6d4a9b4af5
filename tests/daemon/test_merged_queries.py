"""Autoscalers whose expressions are sent as one query, in the real daemon."""

import signal
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import requests

from tests.daemon.running import autoscaler, finished, running_daemon, write_config
from tests.observe.scripted import Answer, Scripted, answered, refused, scripted

pytestmark = pytest.mark.slow

DUPLICATE = "found duplicate series for the match group"


def config(folder: Path, server: Scripted, **more: Any) -> Path:
    """An autoscaler for each number, whose load is its number."""
    scalers = [autoscaler(f"g{number}", f'load{{group="g{number}"}}', **more) for number in (2, 3, 5)]
    return write_config(folder, server.url, scalers)


def test_a_neighbour_in_the_same_query_that_breaks_costs_only_itself(folder: Path) -> None:
    """From its first cycle on; and when it is repaired, or the file changes, all go on."""
    broken = ["g5"]

    def answer(groups: Sequence[str]) -> Answer:
        return refused(DUPLICATE) if set(broken) & set(groups) else answered(groups)

    with scripted() as server:
        server.answer = answer
        with running_daemon(config(folder, server)) as daemon:
            assert DUPLICATE in daemon.wait_for("decision", autoscaler="g5")["message"]
            daemon.wait_for("decision", autoscaler="g2", written=2)
            daemon.wait_for("decision", autoscaler="g3", written=3)
            assert server.asked[0] == 'load{group=~"g2|g3|g5"}'
            config(folder, server, maxReplicas=2)
            before = len(server.asked)
            daemon.send(signal.SIGHUP)
            daemon.wait_for("decision", autoscaler="g3", written=2)
            assert all("g5" not in expr for expr in server.asked[before:] if "=~" in expr)  # nothing was forgotten
            broken.clear()
            daemon.wait_for("decision", autoscaler="g5", written=2)
            assert daemon.stop() == 0


def test_a_heavy_neighbour_costs_only_itself_and_the_daemon_says_who_it_is(folder: Path) -> None:
    """The API, the page, the metrics and `check --plan`."""

    def answer(groups: Sequence[str]) -> Answer:
        if "g5" in groups:
            time.sleep(4)
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
            for words in (["check", "--plan", str(file)], ["status"]):
                command = [sys.executable, "-m", "autoscaler", *words]
                said = finished(command, folder / "state", {"AUTOSCALER_SERVER": url}).stdout.splitlines()
                assert "prometheus default: 1 sent alone, until cheap for ten minutes" in said
                assert '  g5, heavy: load{group="g5"}' in said

            write_config(folder, {"default": {"url": server.url, "timeout": "2s"}}, scalers[:2])
            daemon.send(signal.SIGHUP)
            daemon.until(lambda: source()["queriesAlone"] == 0, "the autoscaler that was removed to be forgotten")
            assert daemon.stop() == 0
