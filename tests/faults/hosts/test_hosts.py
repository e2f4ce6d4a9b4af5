"""The short form: a kill, a pause, and a planted bug that the judge must find."""

from pathlib import Path

import pytest

from tests.faults.hosts.rehearsal import rehearse
from tests.faults.rehearsal import SHORT, held

pytestmark = pytest.mark.slow


def test_no_daemon_writes_after_another_one_has_taken_over(tmp_path: Path) -> None:
    """The leader is killed between a write and its answer, the next one stopped between an intent and its write."""
    held(rehearse(tmp_path, SHORT))
