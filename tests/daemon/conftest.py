"""Fixtures of all tests of the daemon."""

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.daemon.hosts import Hosts
from tests.daemon.running import end_workers
from tests.record.postgresql import empty_state


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """A folder for one daemon's files. Its workers outlive it, so the fixture ends them."""
    yield tmp_path
    end_workers(tmp_path)


@pytest.fixture
def hosts(postgresql: str, prometheus: str, folder: Path) -> Iterator[Hosts]:
    """The hosts of one real PostgreSQL, before any of them is started."""
    with ExitStack() as stack:
        yield Hosts(empty_state(postgresql), prometheus, folder, stack)
