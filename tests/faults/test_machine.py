"""The short form of the machine's faults."""

from pathlib import Path

import pytest

from tests.faults.machine.rehearsal import rehearse
from tests.faults.rehearsal import SHORT, held

pytestmark = pytest.mark.slow


def test_a_failing_machine_loses_no_memory(tmp_path: Path) -> None:
    """Its disk is full, its host stops it, or the state is damaged."""
    held(rehearse(tmp_path, SHORT))
