"""The adapter contract, on a real engine."""

import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from adapters.docker_swarm import DockerSwarm
from autoscaler.target import Adapter
from autoscaler.target.contract import AdapterContract, Harness
from tests.adapters.docker_swarm.build import adapter, ref
from tests.servers.docker import Engine

pytestmark = pytest.mark.slow


class SwarmHarness(Harness):
    """A replicated service, and a global one that cannot be scaled."""

    target = ref("contract")
    missing = ref("nosuch")
    unscalable = ref("everywhere")
    patience_seconds = 60

    def __init__(self, engine: Engine, folder: Path, silent: str) -> None:
        self._engine, self._folder, self._silent = engine, folder, silent
        self.adapter: Adapter = adapter(folder, host=engine.host)

    def rebuild(self, *, dry_run: bool = False) -> Adapter:
        self.adapter = adapter(self._folder, dry_run=dry_run, host=self._engine.host)
        return self.adapter

    def set_size_outside(self, size: int) -> None:
        self._engine.scale(self.target.name, size)

    def unreachable(self) -> DockerSwarm:
        return adapter(self._folder, host=self._silent)


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
