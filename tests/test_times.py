"""Times in the notations of people and programs."""

from datetime import UTC, datetime, timedelta, timezone

import pytest

from autoscaler.times import last_time, parse_instant, parse_time

NOW = datetime(2026, 1, 31, 12, 0, tzinfo=UTC)


@pytest.mark.parametrize("text", ["9:05", "09:05", "9:05:07", "09:05:07"])
def test_an_hour_may_have_one_digit(text: str) -> None:
    found = parse_time(text, NOW, UTC)
    assert (found.hour, found.minute, found.second) == (9, 5, 7 if text.endswith("07") else 0)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("10m", NOW - timedelta(minutes=10)),
        ("11:59:59 UTC", NOW - timedelta(seconds=1)),
        ("12:00:01 UTC", NOW - timedelta(days=1, seconds=-1)),
        ("12:30", NOW - timedelta(minutes=30)),
        ("2026-01-31 13:00:00 local", NOW),
        ("60y", datetime(1970, 1, 1, tzinfo=UTC)),
        ("1970-01-01", datetime(1970, 1, 1, tzinfo=UTC)),
    ],
)
def test_a_time_of_day_is_the_latest_in_the_past(text: str, expected: datetime) -> None:
    """It is local to the operator unless the text names UTC, as the page's texts do."""
    assert parse_time(text, NOW, timezone(timedelta(hours=1))) == expected


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
def test_a_time_that_is_cut_selects_the_end_of_its_second(text: str, microsecond: int) -> None:
    """A decision at .6 s is found by the second that `history` shows."""
    expected = datetime(2026, 1, 31, 14, 30, 5, microsecond, UTC)
    assert last_time(text, NOW) == expected
    assert parse_time(text, NOW) <= expected


@pytest.mark.parametrize("text", ["", "yesterday", "25:00", "2026-13-01", "1h ago", "99999999999y", "10", "-"])
def test_an_invalid_time_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is not a valid time"):
        parse_time(text, NOW)


def test_an_instant_has_a_date() -> None:
    """The API's clients have another local time than the daemon."""
    with pytest.raises(ValueError, match="'14:30' is not a valid time"):
        parse_instant("14:30")


@pytest.mark.parametrize("text", ["0001-01-01", "1969-12-31", "9000-01-01", "9999-12-31T23:59:59-12:00"])
def test_a_year_outside_the_range_is_refused(text: str) -> None:
    """Another time in its place would show the schedules of another year."""
    with pytest.raises(ValueError, match="is not in the years 1970 to 8999"):
        parse_time(text, NOW)
