"""What a late answer is called."""

import pytest

from autoscaler.net.errors import http_error


@pytest.mark.parametrize(
    ("seconds", "said"),
    [(0.897, "0.9 s"), (0.899, "0.9 s"), (0.9, "0.9 s"), (4.9981, "5 s"), (12.34, "12.3 s"), (0.04, "0.04 s")],
)
def test_seconds_left_of_a_cycle_do_not_change_the_words_of_an_error(seconds: float, said: str) -> None:
    """Otherwise one outage is many events: the time that is left differs by milliseconds."""
    assert str(http_error(TimeoutError(), seconds)) == f"did not answer within {said}"
