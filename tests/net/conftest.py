"""One session for each test."""

from collections.abc import Iterator

import pytest

from autoscaler.net.session import Session


@pytest.fixture
def session() -> Iterator[Session]:
    """A session as an adapter has it."""
    with Session(largest=2**20) as one:
        yield one
