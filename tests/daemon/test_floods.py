"""Clients flood the daemon's HTTP server. Scaling continues, and operators still get answers."""

from contextlib import ExitStack
from functools import partial
from pathlib import Path

import pytest
import requests

from tests.daemon.flooding import (
    busy,
    send_ahead,
)
from tests.daemon.running import autoscaler, running_daemon, write_config

pytestmark = pytest.mark.slow


def test_many_requests_do_not_stop_the_shards(folder: Path, prometheus: str) -> None:
    """Clients request pages, lists and metrics without a pause, and send requests ahead of the answers.

    `make bench-hostile` measures the times between cycles.
    """
    names = [f"a{number}" for number in range(200)]
    adapters = {"groups": {"type": "memory", "groups": {name: {} for name in names}}}
    scalers = [autoscaler(name, "vector(2)", adapter="groups") for name in names]
    config = write_config(folder, prometheus, scalers, adapters)
    with running_daemon(config) as daemon, ExitStack() as floods:
        daemon.wait_for("decision", autoscaler="a0", count=2)
        url = daemon.url
        for path in ("/", "/autoscalers/a1", "/autoscalers/a2?range=24h", "/metrics", "/api/v1/autoscalers"):
            floods.enter_context(busy(partial(requests.get, url + path, timeout=30), threads=8))
        floods.enter_context(busy(partial(send_ahead, url), threads=2))
        before = len(daemon.events("decision", autoscaler="a0", level="info"))
        daemon.wait_for("decision", autoscaler="a0", level="info", count=before + 3)
        floods.close()
        assert daemon.stop() == 0
