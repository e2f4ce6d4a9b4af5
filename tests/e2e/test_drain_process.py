"""A pool under load loses workers, and no request.

The workers are drained by HTTP, and the daemon is killed meanwhile.
"""

import json
import random
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import pytest
import requests
import yaml

from tests.daemon.draining import NOWHERE
from tests.daemon.running import RunningDaemon, autoscaler, end_workers, mark, running_daemon, workers
from tests.servers.files import replace_text
from tests.servers.ports import free_ports

pytestmark = pytest.mark.slow
CLIENTS: Final = 8
WORKER: Final = [sys.executable, "-S", str(Path(__file__).with_name("draining_worker.py")), "{port}"]


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    yield tmp_path
    end_workers(tmp_path)


class Balancer:
    """Sends requests to the workers of the targets file, from several clients without a pause."""

    def __init__(self, targets: Path) -> None:
        self.targets = targets
        self.outcomes = Counter[str]()
        self._over = threading.Event()
        self._lock = threading.Lock()

    @contextmanager
    def sending(self) -> Iterator["Balancer"]:
        clients = [threading.Thread(target=self._send) for _ in range(CLIENTS)]
        for each in clients:
            each.start()
        try:
            yield self
        finally:
            self._over.set()
            for each in clients:
                each.join()

    @property
    def addresses(self) -> list[str]:
        return [address for entry in json.loads(self.targets.read_text()) for address in entry["targets"]]

    def _send(self) -> None:
        while not self._over.is_set():
            try:
                status = str(requests.get(f"http://{random.choice(self.addresses)}/", timeout=60).status_code)
            except requests.RequestException as error:
                status = type(error).__name__
            with self._lock:
                self.outcomes[status] += 1


def configure(folder: Path, ports: str, maximum: int, **more: Any) -> Path:
    """Write the pool `web`. A size above maxReplicas is reduced to it without any metric."""
    pool = {"command": WORKER, "ports": ports, "initialReplicas": 3, "gracePeriod": "1s", "env": mark(folder)}
    pool["targetsFile"] = str(folder / "web.json")
    local = {"type": "process", "pools": {"web": pool}}
    scaler = autoscaler("web", "vector(9)", maxReplicas=maximum, **more)
    config = {"prometheus": {"default": {"url": NOWHERE}}, "adapters": {"local": local}, "autoscalers": [scaler]}
    path = folder / "autoscaler.yaml"
    replace_text(path, yaml.safe_dump(config))
    return path


def scale_in(daemon: RunningDaemon, folder: Path, ports: str, **more: Any) -> None:
    daemon.wait_for("ready")
    configure(folder, ports, 1, **more)
    daemon.post("/-/reload").raise_for_status()


def start(daemon: RunningDaemon, balancer: Balancer) -> None:
    """Start the daemon, and wait until three workers answer."""
    daemon.until(lambda: balancer.targets.exists() and len(balancer.addresses) == 3, "three workers")
    for address in balancer.addresses:
        daemon.until(lambda address=address: _answers(address), f"{address} to answer")  # type: ignore[misc]  # mypy infers no lambda with a default


def test_workers_that_leave_lose_no_request_although_the_daemon_is_killed(folder: Path) -> None:
    """Two of three leave with requests of 3 s under way.

    The daemon dies meanwhile, and the next one finishes the drain.
    """
    ports, drain = free_ports(6), {"timeout": "60s", "http": {"url": "http://{address}/drain"}}
    balancer = Balancer(folder / "web.json")
    with running_daemon(configure(folder, ports, 3, drain=drain)) as first:
        start(first, balancer)
        with balancer.sending():
            time.sleep(1)  # so that each worker has requests under way
            scale_in(first, folder, ports, drain=drain)
            first.until(lambda: len(balancer.addresses) == 1, "two workers to leave the file")
            first.process.kill()
            first.process.wait()
            assert len(workers(folder)) == 3
            with running_daemon(folder / "autoscaler.yaml") as second:
                second.until(lambda: len(workers(folder)) == 1, "the two workers to end")
                second.until(lambda: 'outcome="done"} 2.0' in second.metrics(), "both drains to be counted")
                assert second.stop() == 0
    assert set(balancer.outcomes) == {"200"}
    assert balancer.outcomes["200"] >= 2 * CLIENTS


def test_without_a_drain_the_same_load_loses_requests(folder: Path) -> None:
    """Otherwise the test above would prove nothing."""
    ports, balancer = free_ports(6), Balancer(folder / "web.json")
    with running_daemon(configure(folder, ports, 3)) as daemon:
        start(daemon, balancer)
        with balancer.sending():
            time.sleep(1)
            scale_in(daemon, folder, ports)
            daemon.until(lambda: len(workers(folder)) == 1, "two workers to end")
        assert daemon.stop() == 0
    assert set(balancer.outcomes) > {"200"}


def _answers(address: str) -> bool:
    try:
        return requests.post(f"http://{address}/drain", timeout=5).status_code in (200, 503)
    except requests.RequestException:
        return False
