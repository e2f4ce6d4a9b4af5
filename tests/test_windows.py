"""Hard dates: when the entries of schedules are open."""

import dataclasses
from datetime import UTC, date, datetime, time, timedelta
from itertools import takewhile
from zoneinfo import ZoneInfo

import pytest
from cronsim import CronSim

from autoscaler.cron import check_cron, joins_days_by_and, times
from autoscaler.windows import ScheduleEntry, is_open

HOUR = timedelta(hours=1)


def cron(
    expression: str, zone: str = "Europe/Berlin", duration: timedelta | None = HOUR, **keys: object
) -> ScheduleEntry:
    return ScheduleEntry("office", zone, expression, duration, **keys)  # type: ignore[arg-type] # of every type


def windows(entry: ScheduleEntry, begin: str, end: str) -> list[tuple[str, str]]:
    """The windows from one day to another of UTC, in UTC."""
    first, last = (datetime.fromisoformat(each).replace(tzinfo=UTC) for each in (begin, end))
    return [(f"{each.begin:%m-%d %H:%M}", f"{each.end:%m-%d %H:%M}") for each in entry.windows(first, last)]


@pytest.mark.parametrize(
    ("zone", "day", "opens"),
    [
        ("Europe/Berlin", "2026-03-29", "03-29 01:00"),  # 02:30 is left out: it comes at 03:00
        ("Europe/Berlin", "2026-10-25", "10-25 00:30"),  # 02:30 comes twice: the first
        ("America/New_York", "2026-03-08", "03-08 07:00"),
        ("America/New_York", "2026-11-01", "11-01 07:30"),  # 02:30 comes once: 01:00 to 02:00 is repeated
        ("Europe/London", "2026-03-29", "03-29 01:30"),  # 01:00 to 02:00 is left out
        ("Europe/London", "2026-10-25", "10-25 02:30"),
        ("Australia/Lord_Howe", "2026-10-03", "10-03 15:30"),  # half an hour, of Sunday: 02:00 to 02:30 is left out
        ("Australia/Lord_Howe", "2026-04-04", "04-04 16:00"),  # 01:30 to 02:00 is repeated
        ("Asia/Kolkata", "2026-03-28", "03-28 21:00"),  # no summer time
        ("Asia/Kolkata", "2026-10-24", "10-24 21:00"),
    ],
)
def test_a_start_comes_once_in_both_nights_of_summer_time(zone: str, day: str, opens: str) -> None:
    """In five zones. The window's length is elapsed time."""
    following = (date.fromisoformat(day) + timedelta(days=1)).isoformat()
    found = [each for each in windows(cron("30 2 * * *", zone), day, following) if each[0].startswith(day[5:])]
    closes = datetime.strptime(f"2026-{opens}", "%Y-%m-%d %H:%M").replace(tzinfo=UTC) + HOUR
    assert found == [(opens, f"{closes:%m-%d %H:%M}")]


def test_a_window_through_the_night_of_the_change_ends_by_the_clock() -> None:
    """`until` is a local time: the night is 9 or 11 hours long."""
    night = cron("0 20 * * *", duration=None, until="0 6 * * *")
    assert windows(night, "2026-03-28T12:00", "2026-03-29T12:00") == [("03-28 19:00", "03-29 04:00")]
    assert windows(night, "2026-10-24T12:00", "2026-10-25T12:00") == [("10-24 18:00", "10-25 05:00")]


@pytest.mark.parametrize(
    ("expression", "spring", "autumn"),
    [
        ("0,30 2 * * *", ["03-29 01:00"], ["10-25 00:00", "10-25 00:30"]),
        ("*/30 2 * * *", [], ["10-25 00:00", "10-25 00:30", "10-25 01:00", "10-25 01:30"]),
        ("30 */2 * * *", ["03-29 02:30"], ["10-25 00:30", "10-25 01:30", "10-25 03:30"]),
    ],
)
def test_an_hour_or_minute_that_begins_with_a_star_follows_the_clock(
    expression: str, spring: list[str], autumn: list[str]
) -> None:
    """The hour that is left out has no start, and the repeated one has its starts twice."""
    entry = cron(expression, duration=timedelta(minutes=10))
    for day, starts in (("2026-03-29", spring), ("2026-10-25", autumn)):
        assert [begin for begin, _ in windows(entry, f"{day}T00:00", f"{day}T04:00")] == starts


@pytest.mark.parametrize(
    ("zone", "day"),
    [
        ("Europe/Berlin", "2026-10-25"),
        ("Atlantic/Azores", "2026-03-29"),
        ("Atlantic/Azores", "2026-10-25"),
        ("America/Havana", "2026-03-08"),
        ("America/Havana", "2026-11-01"),
        ("Asia/Beirut", "2026-03-29"),
        ("Australia/Lord_Howe", "2026-04-05"),
        ("Pacific/Chatham", "2026-09-27"),
    ],
)
@pytest.mark.parametrize("expression", ["*/20 1 * * 0", "0 */6 * * 0", "*/20 0 * * 0", "30 */2 * * *", "45 * * * *"])
def test_an_expression_with_a_star_comes_in_each_minute_that_shows_its_time(
    zone: str, day: str, expression: str
) -> None:
    """On nights of a change at midnight, or by half an hour, cronsim left times out and added others."""
    local, begin = ZoneInfo(zone), datetime.fromisoformat(day).replace(tzinfo=UTC) - timedelta(days=1)
    minutes = [begin + timedelta(minutes=number) for number in range(1, 2 * 24 * 60)]

    def shows(at: datetime) -> bool:
        clock = at.astimezone(local).replace(tzinfo=None)
        return next(CronSim(expression, clock - timedelta(minutes=1))) == clock

    shown = [at for at in minutes if shows(at)]
    for start in (begin, *shown):
        found = takewhile(lambda at: at <= minutes[-1], times(expression, local, start))
        assert list(found) == [at for at in shown if at > start]


@pytest.mark.parametrize("day", ["2026-10-04", "2026-04-05"])
@pytest.mark.parametrize(
    ("expression", "starts"),
    [("0 */6 * * *", ["00:00", "06:00", "12:00", "18:00"]), ("*/20 23 * * *", ["23:00", "23:20", "23:40"])],
)
def test_a_change_by_half_an_hour_hides_no_later_start_of_its_day(day: str, expression: str, starts: list[str]) -> None:
    """Steps from hour to hour lead from 01:00 to 02:30, 03:30 and so on."""
    zone = ZoneInfo("Australia/Lord_Howe")
    found = times(expression, zone, datetime.fromisoformat(day).replace(tzinfo=zone) - timedelta(minutes=1))
    assert [f"{next(found).astimezone(zone):%F %H:%M}" for _ in starts] == [f"{day} {start}" for start in starts]


def test_an_end_in_the_repeated_hour_is_after_its_start() -> None:
    """02:30 comes twice, and the second one is a start here; 02:45 before it is no end."""
    entry = cron("*/30 2 25 10 *", duration=None, until="45 2 * * *")
    found = windows(entry, "2026-10-25", "2026-10-26")
    assert found == [("10-25 00:00", "10-25 00:45"), ("10-25 01:00", "10-26 01:45")]


@pytest.mark.parametrize(
    ("expression", "days"),
    [
        ("0 12 29 2 *", ["2024-02-29", "2028-02-29"]),
        ("0 12 L 2 *", ["2024-02-29", "2025-02-28", "2026-02-28", "2027-02-28", "2028-02-29"]),
        ("0 12 31 * *", None),
    ],
)
def test_leap_days_and_ends_of_months(expression: str, days: list[str] | None) -> None:
    entry = cron(expression, "UTC")
    found = entry.windows(datetime(2024, 1, 1, tzinfo=UTC), datetime(2028, 12, 31, tzinfo=UTC))
    starts = [each.begin.date().isoformat() for each in found]
    if days is None:
        assert len(starts) == 34
        assert {each[5:7] for each in starts} == {"01", "03", "05", "07", "08", "10", "12"}
    else:
        assert starts == days


@pytest.mark.parametrize(
    ("expression", "days"),
    [
        ("0 12 13 * 5", [2, 9, 13, 16, 23, 30]),  # either, as in every cron
        ("0 12 */13 * 5", []),  # both: the 1st, 14th and 27th are no Fridays
        ("0 12 * * 7", [4, 11, 18, 25]),  # 7 is Sunday, too
        ("0 12 * * 1", [5, 12, 19, 26]),  # 1 is Monday
    ],
)
def test_a_day_matches_either_field_unless_one_begins_with_a_star(expression: str, days: list[int]) -> None:
    found = cron(expression, "UTC").windows(datetime(2026, 10, 1, tzinfo=UTC), datetime(2026, 11, 1, tzinfo=UTC))
    assert [each.begin.day for each in found] == days
    assert joins_days_by_and(expression) is (expression == "0 12 */13 * 5")


def test_windows_longer_than_their_period_are_one() -> None:
    """It is always open, also at the moment at which the next one begins."""
    entry = cron("0 8 * * *", "UTC", timedelta(hours=30))
    (only,) = entry.windows(datetime(2026, 5, 4, tzinfo=UTC), datetime(2026, 5, 6, tzinfo=UTC))
    assert only.begin <= datetime(2026, 5, 4, tzinfo=UTC)
    assert only.end >= datetime(2026, 5, 6, 14, tzinfo=UTC)
    assert is_open(entry, datetime(2026, 5, 5, 8, tzinfo=UTC))


def test_an_end_that_never_comes_is_31_days_after_the_start() -> None:
    entry = cron("0 0 1 1 *", "UTC", None, until="0 0 1 6 *")
    assert windows(entry, "2026-01-15", "2026-01-16") == [("01-01 00:00", "02-01 00:00")]
    assert windows(entry, "2026-02-01", "2026-02-02") == []


def test_ends_that_come_seldom_and_often_close_what_began_before_them() -> None:
    """A window that began a month ago is known, and one that an end has closed is not."""
    monthly = cron("0 0 1 * *", "UTC", None, until="0 12 28 * *")
    assert windows(monthly, "2026-05-28T11:00", "2026-05-28T13:00") == [("05-01 00:00", "05-28 12:00")]
    assert windows(monthly, "2026-05-28T12:00", "2026-05-31") == []
    hourly = cron("30 * * * *", "UTC", None, until="0 * * * *")
    assert windows(hourly, "2026-05-04T12:00", "2026-05-04T12:30") == []
    assert windows(hourly, "2026-05-04T12:59", "2026-05-04T13:01") == [("05-04 12:30", "05-04 13:00")]
    through = cron("0 0 * * *", "UTC", None, until="0 0 * * *")
    assert is_open(through, datetime(2026, 5, 4, tzinfo=UTC))


def test_except_skips_the_starts_of_a_local_date() -> None:
    """The night that began the day before continues."""
    night = cron("0 20 * * *", "Pacific/Auckland", None, until="0 6 * * *", excluded=(date(2026, 12, 25),))
    found = windows(night, "2026-12-24", "2026-12-27")
    assert found == [("12-24 07:00", "12-24 17:00"), ("12-26 07:00", "12-26 17:00")]


def test_a_lead_time_opens_earlier_and_closes_at_the_same_time() -> None:
    early = cron("0 0 * * *", "UTC", lead_time=timedelta(minutes=5))
    assert windows(early, "2026-05-04T23:58", "2026-05-04T23:59") == [("05-04 23:55", "05-05 01:00")]


def test_a_start_and_an_end_are_local_times() -> None:
    """Of the day of a change, too: 00:00 to 24:00 has 25 hours."""
    sale = ScheduleEntry("sale", "America/New_York", start=datetime(2026, 11, 1), end=datetime(2026, 11, 2))  # noqa: DTZ001
    assert windows(sale, "2026-10-31", "2026-11-03") == [("11-01 04:00", "11-02 05:00")]
    left_out = ScheduleEntry("x", "Europe/Berlin", start=datetime(2026, 3, 29, 2, 30), end=datetime(2026, 3, 29, 5))  # noqa: DTZ001
    assert windows(left_out, "2026-03-29", "2026-03-30") == [("03-29 01:00", "03-29 03:00")]


def test_a_boundary_opens_and_closes_to_the_second() -> None:
    entry = cron("0 8 * * 1-5")
    opens = datetime(2026, 5, 4, 6, tzinfo=UTC)
    second = timedelta(seconds=1)
    seen = [is_open(entry, at) for at in (opens - second, opens, opens + HOUR - second, opens + HOUR)]
    assert seen == [False, True, True, False]


@pytest.mark.parametrize("expression", ["*/7 2 * * *", "0 * * * *", "* * * * *", "15 1-3 * * *", "*/30 2 * * 0"])
@pytest.mark.parametrize("zone", ["Europe/Berlin", "Australia/Lord_Howe", "America/New_York", "Africa/Casablanca"])
def test_times_are_in_order_whatever_the_clock_does(expression: str, zone: str) -> None:
    """Also from a start in the repeated hour."""
    for after in (datetime(2026, 10, 25, 0, 15, tzinfo=UTC), datetime(2026, 10, 25, 1, 15, tzinfo=UTC)):
        found = times(expression, ZoneInfo(zone), after)
        first = [next(found) for _ in range(500)]
        assert first == sorted(set(first))
        assert first[0] > after


@pytest.mark.parametrize(
    "expression",
    [
        "",
        "* * * *",
        "0 0 8 * * 1-5",
        "61 * * * *",
        "0 8 * * MO",
        "@daily",
        "0 0 30 2 *",
        "*/0 * * * *",
        f"{'9' * 5000} * * * *",
        "0 0 L/2 * L#",
    ],
)
def test_an_expression_that_never_matches_or_is_none_is_refused(expression: str) -> None:
    with pytest.raises(ValueError, match=r"cron expression|matches no day"):
        check_cron(expression)


def test_a_window_inside_a_gap_of_the_clock_is_never_open() -> None:
    """In Berlin 02:00 to 03:00 is left out on this day, so both of its times are one instant."""
    gone = ScheduleEntry("x", "Europe/Berlin", start=datetime(2026, 3, 29, 2, 10), end=datetime(2026, 3, 29, 2, 50))  # noqa: DTZ001
    assert windows(gone, "2026-03-28", "2026-03-31") == []
    assert not is_open(gone, datetime(2026, 3, 29, 1, tzinfo=UTC))
    always = cron("* * * * *", "UTC")
    assert gone.overlap(always) is None
    assert always.overlap(gone) is None
    early = dataclasses.replace(gone, lead_time=timedelta(minutes=5))
    assert windows(early, "2026-03-28", "2026-03-31") == [("03-29 00:55", "03-29 01:00")]


@pytest.mark.parametrize(
    ("zone", "day"),
    [("Europe/Berlin", "2026-03-29"), ("America/New_York", "2026-03-08"), ("Australia/Lord_Howe", "2026-10-04")],
)
@pytest.mark.parametrize("days", ["* * *", "* * SUN", "{day} {month} *"])
def test_an_end_that_the_clock_leaves_out_with_its_start_still_ends_it(zone: str, day: str, days: str) -> None:
    """Both come at the change. A window of 20 minutes was open until the next end: a day, a week or a month later."""
    at = date.fromisoformat(day)
    fields = days.format(day=at.day, month=at.month)
    gone = cron(f"5 2 {fields}", zone, None, until=f"25 2 {fields}")
    local = datetime.combine(at, time(2, 10), ZoneInfo(zone)).astimezone(UTC)
    night = f"{local - 2 * HOUR:%Y-%m-%dT%H:%M}", f"{local + 2 * HOUR:%Y-%m-%dT%H:%M}"
    assert windows(gone, *night) == []
    (early,) = windows(dataclasses.replace(gone, lead_time=timedelta(minutes=5)), *night)
    ends = windows(dataclasses.replace(gone, until=f"30 3 {fields}"), *night)
    assert early[1] == ends[0][0]  # the change


@pytest.mark.parametrize(
    ("starts", "ends", "window"),
    [
        ("0,30 2 * * *", "15 2 * * *", ("03-29 01:00", "03-30 00:15")),  # the last start has no end on this day
        ("0 3 * * *", "45 2 * * *", ("03-29 01:00", "03-30 00:45")),  # the end is that of the day before
        ("15 2 * * *", "*/15 3 * * *", None),  # the end's own time
        ("15 2 * * *", "15 2 * * *", ("03-29 01:00", "03-30 00:15")),  # always open
    ],
)
def test_at_the_change_the_local_times_tell_whether_an_end_is_a_starts(
    starts: str, ends: str, window: tuple[str, str] | None
) -> None:
    """An end that was before the start closes the window before, not this one."""
    entry = cron(starts, duration=None, until=ends)
    at = datetime(2026, 3, 29, 1, tzinfo=UTC)
    found = [(f"{each.begin:%m-%d %H:%M}", f"{each.end:%m-%d %H:%M}") for each in entry.openings(at - HOUR, at + HOUR)]
    assert found == ([] if window is None else [window])
