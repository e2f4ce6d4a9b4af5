"""Times as an operator writes them."""

import pytest

from autoscaler.cli.options import moment


@pytest.mark.parametrize("text", ["9:05", "09:05", "9:05:07", "09:05:07"])
def test_an_hour_may_have_one_digit(text: str) -> None:
    found = moment(text, "--since").astimezone()
    assert (found.hour, found.minute, found.second) == (9, 5, 7 if text.endswith("07") else 0)
