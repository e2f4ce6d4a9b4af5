"""The short form of a day."""

from pathlib import Path

import pytest

from tests.faults.day.rehearsal import rehearse
from tests.faults.rehearsal import SHORT, held

pytestmark = pytest.mark.slow


def test_a_day_leaves_the_daemon_as_it_was(tmp_path: Path) -> None:
    """Nine minutes of it, with a kill, a reload and an outage."""
    held(rehearse(tmp_path, SHORT))
