"""Times as an operator writes them."""

from datetime import UTC, datetime

import pytest

from autoscaler.cli.options import moment


@pytest.mark.parametrize("text", ["9:05", "09:05", "9:05:07", "09:05:07"])
def test_an_hour_may_have_one_digit(text: str) -> None:
    found = moment(text, "--since").astimezone()
    assert (found.hour, found.minute, found.second) == (9, 5, 7 if text.endswith("07") else 0)


@pytest.mark.parametrize(
    ("text", "microsecond"),
    [
        ("2026-01-31T14:30:05Z", 999_999),
        ("2026-01-31T14:30:05.123+00:00", 123_999),
        ("2026-01-31T14:30:05.123456Z", 123_456),
        ("2026-01-31 14:30:05 UTC", 999_999),
        ("2026-01-31 15:30:05 +0100", 999_999),
        ("Sat, 31 Jan 2026 14:30:05 +0000", 999_999),
    ],
)
def test_a_time_reaches_to_the_end_of_what_is_written(text: str, microsecond: int) -> None:
    """What is shown is cut: all that is written alike is meant."""
    expected = datetime(2026, 1, 31, 14, 30, 5, microsecond, UTC)
    assert moment(text, "--at", to_its_end=True) == expected
    assert moment(text, "--since") <= expected


def test_a_time_of_day_in_utc_is_of_today_or_of_yesterday() -> None:
    """As the page writes the times of events."""
    found = moment("23:59:59 UTC", "--at").astimezone(UTC)
    assert (found.hour, found.minute, found.second) == (23, 59, 59)
    assert found <= datetime.now(UTC)
