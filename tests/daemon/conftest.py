"""What every test of the daemon stands on."""

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.daemon.hosts import Hosts
from tests.daemon.running import end_workers
from tests.record.postgresql import empty_state, running_postgresql
from tests.servers.prometheus import running_prometheus


@pytest.fixture(scope="session")
def prometheus(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A real one's URL. It scrapes nothing: the queries say what they come to."""
    with running_prometheus(tmp_path_factory.mktemp("prometheus")) as server:
        yield server.url


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """For one daemon's files. Its workers outlive it, so they are ended here."""
    yield tmp_path
    end_workers(tmp_path)


@pytest.fixture(scope="session")
def postgresql() -> Iterator[str]:
    with running_postgresql() as server:
        yield server


@pytest.fixture
def hosts(postgresql: str, prometheus: str, folder: Path) -> Iterator[Hosts]:
    """On one real PostgreSQL. None is started yet."""
    with ExitStack() as stack:
        yield Hosts(empty_state(postgresql), prometheus, folder, stack)
