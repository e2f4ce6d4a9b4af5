"""One engine for this package's tests."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from adapters.docker_swarm import DockerSwarm
from tests.adapters.docker_swarm.build import Connect, adapter
from tests.adapters.docker_swarm.certificates import make_certificates
from tests.servers.docker import Engine, running_engine


@pytest.fixture(scope="session")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_certificates(tmp_path_factory.mktemp("certificates"))


@pytest.fixture(scope="package")  # ends with this package: each machine has one engine, which other packages need too
def engine(certificates: Path) -> Iterator[Engine]:
    with running_engine(certificates) as running:
        yield running


@pytest.fixture
def connect(tmp_path: Path) -> Connect:
    def build(host: str, **section: Any) -> DockerSwarm:
        return adapter(tmp_path, host=host, **section)

    return build


@pytest.fixture
def swarm(connect: Connect, engine: Engine) -> DockerSwarm:
    """An adapter on the real engine's socket."""
    return connect(engine.host)
