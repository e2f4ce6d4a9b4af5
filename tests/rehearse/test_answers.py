"""The bad answers of the rehearsal."""

from rehearse.bad_answers import ANSWERS


def test_there_are_29_bad_answers() -> None:
    """docs/internals/reliability.md names this number."""
    assert len(ANSWERS) == 29
