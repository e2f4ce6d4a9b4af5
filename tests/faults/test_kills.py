"""The short form: one kill at each moment."""

from pathlib import Path

import pytest

from tests.faults.kills import rehearse
from tests.faults.rehearsal import SHORT, held


@pytest.mark.slow
def test_a_daemon_that_is_killed_at_any_moment_of_a_write_forgets_nothing(tmp_path: Path) -> None:
    """What it committed is all that the next one has: windows, policies and writes under way must be in it."""
    held(rehearse(tmp_path, SHORT))
