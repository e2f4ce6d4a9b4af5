"""The short form: a fault of each of three kinds, and a planted bug that the judge must find."""

from pathlib import Path

import pytest

from tests.faults.hosts.rehearsal import rehearse
from tests.faults.rehearsal import held

pytestmark = pytest.mark.slow


def test_three_daemons_on_one_database_survive_faults(tmp_path: Path) -> None:
    held(rehearse(tmp_path, True))
