from collections.abc import Iterator

import pytest

from tests.notify.receiver import Receiver, receiving


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    """A receiver that accepts every notice."""
    with receiving() as found:
        yield found
