"""Times as a file of tests writes them."""

from datetime import timedelta

import pytest

from autoscaler.scenarios.times import Start

BERLIN = Start.of("2026-11-23T07:55", "Europe/Berlin")


@pytest.mark.parametrize(
    ("text", "elapsed"),
    [
        ("10m", timedelta(minutes=10)),
        ("0", timedelta(0)),
        ("07:55", timedelta(0)),
        ("08:10:30", timedelta(minutes=15, seconds=30)),
        ("07:54", timedelta(days=1, minutes=-1)),
        ("2026-11-24T08:55", timedelta(days=1, hours=1)),
        ("2026-11-23T07:00:00Z", timedelta(minutes=5)),
    ],
)
def test_a_time_is_a_duration_a_time_of_day_or_a_date(text: str, elapsed: timedelta) -> None:
    assert BERLIN.elapsed(text) == elapsed


def test_a_time_of_day_after_a_change_of_clocks_is_that_of_the_clock() -> None:
    """Summer time begins at 02:00, and 08:00 comes an hour earlier."""
    start = Start.of("2026-03-28T20:00", "Europe/Berlin")
    assert start.elapsed("08:00") == timedelta(hours=11)
    assert start.text(timedelta(hours=11)) == "2026-03-29 08:00:00 CEST"


def test_a_time_that_the_change_of_clocks_leaves_out_is_refused() -> None:
    with pytest.raises(ValueError, match="2026-03-29T02:30:00 does not exist in Europe/Berlin"):
        Start.of("2026-03-28T20:00", "Europe/Berlin").elapsed("02:30")


@pytest.mark.parametrize(
    ("text", "zone", "message"),
    [
        ("2026-11-23T07:55", None, "it has no zone; add `timezone`"),
        ("2026-11-23T07:55", "Mars/Olympus", "'Mars/Olympus' is not a time zone"),
        ("2026-11-23T07:55", "../../etc/passwd", "is not a time zone"),
        ("2026-11-23T07:55", "Europe", "is not a time zone"),
        ("2026-13-23T07:55", "UTC", "is not a time"),
        ("yesterday", "UTC", "is not a start"),
        ("9999-12-31T23:59Z", None, "is outside the years"),
        ("0001-01-01T00:00Z", None, "is outside the years"),
    ],
)
def test_a_start_without_a_meaning_is_refused(text: str, zone: str | None, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Start.of(text, zone)


def test_a_time_of_day_that_comes_twice_is_the_first_one_at_or_after_the_start() -> None:
    """Summer time ends at 03:00, and this test begins when 02:30 comes for the second time."""
    start = Start.of("2026-10-25T02:30+01:00", "Europe/Berlin")
    assert [start.elapsed(text) for text in ("02:30", "02:45", "03:00")] == [
        timedelta(minutes=minutes) for minutes in (0, 15, 30)
    ]
    assert start.elapsed("02:15") == timedelta(hours=23, minutes=45)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is not a valid duration; write .* or a time of day, as in 08:10, or a date and time"),
        ("soon", "'soon' is not a valid duration"),
        ("-5m", "'-5m' is not a valid duration; write .* or a time of day"),
        ("2026-11-24", "'2026-11-24' is not a valid duration; write .* or a date and time"),
        ("25:00", "'25:00' is not a time; write it as in 08:10"),
        ("08:61", "'08:61' is not a time"),
        ("2026-02-30T08:00", "'2026-02-30T08:00' is not a time"),
        ("2026-11-23T07:00", "2026-11-23T07:00 is before the start"),
    ],
)
def test_a_time_before_the_start_or_of_another_form_is_refused(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        BERLIN.elapsed(text)
