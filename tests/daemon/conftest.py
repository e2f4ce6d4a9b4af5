"""Fixtures of all tests of the daemon."""

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from autoscaler.target.contract.harness import RecordingLogger
from tests.daemon.hanging import ThirdParty
from tests.daemon.hosts import Hosts
from tests.daemon.leading import FakeLease
from tests.daemon.running import end_workers
from tests.record.postgresql import empty_state


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """A folder for one daemon's files. Its workers outlive it, so the fixture ends them."""
    yield tmp_path
    end_workers(tmp_path)


@pytest.fixture
def third(folder: Path) -> ThirdParty:
    """An adapter of another project, which hangs where a test says."""
    return ThirdParty(folder)


@pytest.fixture
def lease() -> FakeLease:
    """A lease that a test gives and takes away."""
    return FakeLease()


@pytest.fixture
def log() -> RecordingLogger:
    """The log of what is under test."""
    return RecordingLogger()


@pytest.fixture
def hosts(postgresql: str, prometheus: str, folder: Path) -> Iterator[Hosts]:
    """The hosts of one real PostgreSQL, before any of them is started."""
    with ExitStack() as stack:
        yield Hosts(empty_state(postgresql), prometheus, folder, stack)
