"""The adapter contract, on a real engine at the second of two addresses.

The first address refuses connections. With one address only the choice is missing; the suite is too slow to run twice.
"""

import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from adapters.docker_swarm import DockerSwarm
from autoscaler.target import Adapter
from autoscaler.target.contract import AdapterContract, Harness
from tests.adapters.docker_swarm.build import ref
from tests.adapters.live import LiveHarness
from tests.servers.docker import Engine
from tests.servers.ports import free_port

pytestmark = pytest.mark.slow


class SwarmHarness(LiveHarness):
    """A replicated service, and a global one that cannot be scaled."""

    adapter_type = DockerSwarm
    target = ref("contract")
    missing = ref("nosuch")
    unscalable = ref("everywhere")

    def __init__(self, engine: Engine, folder: Path, silent: str) -> None:
        self._engine, self._silent = engine, silent
        super().__init__(engine.host, folder)

    def settings(self, url: str) -> dict[str, Any]:
        return {"addresses": [f"tcp://127.0.0.1:{free_port()}", url]}

    def set_size_outside(self, size: int) -> None:
        self._engine.scale(self.target.name, size)

    def unreachable(self) -> Adapter:
        return self._build(self._silent)


@pytest.fixture(scope="module")
def services(engine: Engine) -> Iterator[None]:
    with (
        engine.service("contract", Mode={"Replicated": {"Replicas": 1}}),
        engine.service("everywhere", Mode={"Global": {}}),
    ):
        yield


class TestDockerSwarm(AdapterContract):
    """`unreachable` is a socket that accepts connections and does not answer."""

    @pytest.fixture
    def harness(self, engine: Engine, services: None, tmp_path: Path) -> Iterator[Harness]:
        with socket.create_server(("127.0.0.1", 0)) as silent:
            yield SwarmHarness(engine, tmp_path, f"tcp://127.0.0.1:{silent.getsockname()[1]}")
