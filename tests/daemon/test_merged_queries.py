"""Autoscalers whose expressions are sent as one query, in the real daemon."""

import signal
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.daemon.running import autoscaler, running_daemon, write_config
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
