"""The short form: one kill at each moment."""

from pathlib import Path

import pytest

from tests.faults.kills import rehearse
from tests.faults.rehearsal import SHORT, held


@pytest.mark.slow
def test_a_daemon_that_is_killed_at_any_moment_of_a_write_forgets_nothing(tmp_path: Path) -> None:
    """The next daemon has only its commits, which must include windows, policies and unfinished writes."""
    held(rehearse(tmp_path, SHORT))
