"""The short form of what may happen to the machine."""

from pathlib import Path

import pytest

from tests.faults.machine.rehearsal import rehearse
from tests.faults.rehearsal import SHORT, held

pytestmark = pytest.mark.slow


def test_a_machine_that_fails_costs_no_memory(tmp_path: Path) -> None:
    """A disk that is full, a host that stops it, a state that is damaged."""
    held(rehearse(tmp_path, SHORT))
