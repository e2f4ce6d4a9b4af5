"""The short form: every bad answer once, all at the same time."""

from pathlib import Path

import pytest

from tests.faults.answers import rehearse
from tests.faults.bad_answers import ANSWERS
from tests.faults.rehearsal import SHORT, held


@pytest.mark.slow
def test_no_bad_answer_scales_in_or_stops_an_autoscaler_for_good(tmp_path: Path) -> None:
    """An outage must never look like zero load, and autoscalers must recover by themselves."""
    held(rehearse(tmp_path, SHORT))


def test_there_are_29_bad_answers() -> None:
    """docs/internals/reliability.md names this number."""
    assert len(ANSWERS) == 29
