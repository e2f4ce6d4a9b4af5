"""The short form of a day."""

from pathlib import Path

import pytest

from tests.faults.day.rehearsal import rehearse
from tests.faults.rehearsal import SHORT, held

pytestmark = pytest.mark.slow


def test_after_a_day_the_daemon_is_as_before(tmp_path: Path) -> None:
    """The short form has three minutes of a day, with a kill, a reload and an outage."""
    held(rehearse(tmp_path, SHORT))
