"""Schedules in the configuration."""

from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import pytest

from autoscaler.config.loader import load_text
from autoscaler.errors import ConfigError
from autoscaler.windows import ScheduleEntry, Window
from tests.config.schedules import NIGHT, OFFICE, SALE, entries_of, text


def entries(own: str, *shared: str) -> Sequence[ScheduleEntry]:
    return entries_of(load_text(Path("autoscaler.yaml"), text(own, *shared)).autoscalers[0])


def problems(own: str, *shared: str) -> Sequence[str]:
    with pytest.raises(ConfigError) as error:
        load_text(Path("autoscaler.yaml"), text(own, *shared))
    return [str(each) for each in error.value.problems]


def hints(own: str, *shared: str) -> Sequence[str]:
    return [str(each) for each in load_text(Path("autoscaler.yaml"), text(own, *shared)).hints]


def test_schedules_are_shared_by_name_or_written_into_an_autoscaler() -> None:
    """A name of several entries has indices, and an entry of its own the place in the list."""
    found = entries(f"office, both, {OFFICE}", f"office: [{OFFICE}]", f"both: [{NIGHT}, {SALE}]")
    assert [each.name for each in found] == ["office", "both[0]", "both[1]", "schedules[2]"]
    office, night, sale, own = found
    assert (office.cron, office.duration, office.timezone) == ("0 8 * * 1-5", timedelta(hours=10), "Europe/Berlin")
    assert (own.min_replicas, own.max_replicas, own.replace) == (10, None, False)
    assert (night.until, night.max_replicas) == ("0 6 * * *", 0)
    assert (sale.start, sale.end) == (datetime(2026, 11, 27), datetime(2026, 11, 30, 23, 59))  # noqa: DTZ001
    assert next(sale.windows(datetime(2026, 11, 28, tzinfo=UTC), datetime(2026, 11, 29, tzinfo=UTC))).begin.hour == 5


def test_the_other_keys_of_an_entry() -> None:
    more = f"{OFFICE[:-1]}, replace: true, except: [2026-12-25, 2027-01-01], leadTime: 5m}}"
    (found,) = entries(more)
    assert found.replace
    assert found.excluded == (date(2026, 12, 25), date(2027, 1, 1))
    assert found.lead_time == timedelta(minutes=5)


@pytest.mark.parametrize(
    ("own", "problem"),
    [
        (
            OFFICE.replace(", timezone: Europe/Berlin", ""),
            "7:17: HERE.timezone: is missing; it has no default",
        ),
        (
            OFFICE.replace("Berlin", "Berln"),
            ("7:64: HERE.timezone: 'Europe/Berln' is not a time zone of this machine; write one as in Europe/Berlin"),
        ),
        (
            OFFICE.replace("1-5", "1-8"),
            (
                "7:24: HERE.cron: '0 8 * * 1-8' is not a cron expression (Bad day-of-week); write "
                'one as in "0 8 * * 1-5"'
            ),
        ),
        (
            OFFICE.replace("0 8", "0 0 8"),
            (
                "7:24: HERE.cron: '0 0 8 * * 1-5' is not a cron expression of five fields; write "
                'minute, hour, day of the month, month and day of the week, as in "0 8 * * 1-5"'
            ),
        ),
        (
            OFFICE.replace("10h", "32d"),
            "7:49: HERE.duration: 32d is too long; write at most 31d",
        ),
        (
            OFFICE.replace("duration: 10h, ", ""),
            ("7:17: HERE: write either `cron` with one of `duration` and `until`, or `start` and `end`"),
        ),
        (
            OFFICE.replace(", minReplicas: 10", ""),
            "7:17: HERE: it sets no bound; add minReplicas, maxReplicas or both",
        ),
        (
            SALE.replace("2026-11-30T23:59", "2026-11-26T23:59"),
            "7:17: HERE: `end` is not after `start`; correct one of them",
        ),
        (
            SALE.replace("2026-11-30T23:59", "2026-11-30T23:59Z"),
            (
                "7:48: HERE.end: '2026-11-30T23:59Z' is not a date and time in `timezone`; write it "
                "without an offset, as in 2026-11-27T00:00"
            ),
        ),
        (
            SALE.replace("80", "30"),
            "7:17: HERE: maxReplicas 30 is below minReplicas 40; raise it, or lower minReplicas",
        ),
        (
            OFFICE.replace("10}", "10, except: [Christmas]}"),
            "7:105: HERE.except[0]: 'Christmas' is not a date; write it as in 2026-12-25",
        ),
        (
            SALE.replace("80}", "80, except: [2026-11-28]}"),
            "7:17: HERE: `except` applies to the starts of `cron`; remove it",
        ),
        ("offices", "7:17: HERE: no schedule 'offices' in `schedules`; none is defined"),
        (
            SALE.replace(", maxReplicas: 80", ""),
            (
                "7:17: HERE: minReplicas 40 of schedules[0] is above maxReplicas 20; lower it, or "
                "give the entry a maxReplicas"
            ),
        ),
        (
            OFFICE.replace("10}", "0, replace: true}"),
            ("7:17: HERE: minReplicas 0 of schedules[0] needs an Object or External metric to scale up again; write 1"),
        ),
    ],
)
def test_a_mistake_is_told_with_its_place(own: str, problem: str) -> None:
    assert problems(own) == [f"autoscaler.yaml:{problem.replace('HERE', 'autoscalers[0].schedules[0]')}"]


def test_a_mistake_in_a_shared_schedule_is_told_once() -> None:
    """Where it is written, however many use it."""
    shared = f"office: [{OFFICE.replace('10h', '0')}]"
    assert problems("office, office", shared) == [
        'autoscaler.yaml:3:44: schedules.office[0].duration: 0 is too short; write a duration above 0, as in "15s"'
    ]


def test_an_autoscaler_has_at_most_a_hundred_entries() -> None:
    """Each costs time in every cycle, written out or not."""
    shared = f"many: [{', '.join([OFFICE] * 50)}]"
    assert len(entries("many, many", shared)) == 100
    assert problems(f"many, {OFFICE}, many", shared) == [
        "autoscaler.yaml:9:16: autoscalers[0].schedules: they have 101 entries; write at most 100"
    ]


def test_check_warns_of_a_day_field_that_begins_with_a_star() -> None:
    """Both must match then, as in Debian's cron."""
    (hint,) = hints(OFFICE.replace("0 8 * * 1-5", "0 8 */2 * 1-5"))
    assert hint == (
        "autoscaler.yaml:7:24: autoscalers[0].schedules[0].cron: a day must match both day fields, because one of them "
        "begins with `*`; write its days out, as in 1-31/2, if a match of either is meant"
    )
    assert hints(OFFICE.replace("0 8 * * 1-5", "0 8 */2 * *")) == []


def test_check_lists_overlaps_in_which_a_minimum_wins() -> None:
    (hint,) = hints("sale, night", f"sale: [{SALE}]", f"night: [{NIGHT}]")
    assert hint == (
        "autoscaler.yaml:10:23: autoscalers[0].schedules[1]: sale and night are open together, as on 2026-11-27 at "
        "19:00 UTC; then minReplicas 40 takes precedence over maxReplicas 0"
    )
    assert hints("office, night", f"office: [{OFFICE}]", f"night: [{NIGHT}]") == []
    summer = SALE.replace("-11-", "-07-").replace("40", "30").replace("80", "35")
    assert hints("summer, sale", f"summer: [{summer}]", f"sale: [{SALE}]") == []


@pytest.fixture
def compared(monkeypatch: pytest.MonkeyPatch) -> list[ScheduleEntry]:
    """The entries of all windows that were made, of which each takes a tenth of a millisecond."""
    seen, genuine = list[ScheduleEntry](), ScheduleEntry.openings

    def openings(entry: ScheduleEntry, after: datetime, end: datetime, most: int | None = None) -> Iterator[Window]:
        for window in genuine(entry, after, end, most):
            seen.append(entry)
            yield window

    monkeypatch.setattr(ScheduleEntry, "openings", openings)
    return seen


@pytest.mark.slow
def test_the_windows_of_each_of_dozens_of_entries_are_made_once(compared: list[ScheduleEntry]) -> None:
    """The daemon compares all with all, too: a load that takes minutes looks like a daemon that hangs."""
    often = OFFICE.replace("0 8 * * 1-5", "* 8-11 * * *").replace("10h", "1m")
    nights = [NIGHT.replace("0 20", f"{minute} 20") for minute in range(15)]
    days = [OFFICE.replace("0 8", f"{minute} 8") for minute in range(15)]
    assert hints(", ".join([*days, often, *nights])) == []
    assert 0 < max(Counter(compared).values()) <= 400


def test_entries_that_are_always_open_have_few_windows(compared: list[ScheduleEntry]) -> None:
    """A year has half a million minutes."""
    always = [each.replace("0 8 * * 1-5", "* * * * *").replace("0 20", "* *") for each in (OFFICE, NIGHT)]
    (hint,) = hints(", ".join(always))
    assert "are open together, as on 2024-01-01" in hint
    assert 0 < len(compared) <= 2 * 400


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        ('{cron: "0 8 * * *", until: "0  8 * * *", timezone: UTC, minReplicas: 9}', "is always open"),
        ("{start: 2026-03-29T02:10, end: 2026-03-29T02:50, timezone: Europe/Berlin, minReplicas: 9}", "is never open"),
        ('{cron: "0 8 * * *", duration: 1h, timezone: UTC, minReplicas: 0}', "add `replace: true`"),
        ('{cron: "0 8 * * *", duration: 1h, timezone: UTC, minReplicas: 1, maxReplicas: 20}', "add `replace: true`"),
        ('{cron: "0 8 * * *", duration: 1h, timezone: UTC, minReplicas: 2}', "its bounds are the autoscaler's own"),
        ('{cron: "0 8 * * *", duration: 1h, timezone: UTC, maxReplicas: 20}', "its bounds are the autoscaler's own"),
    ],
)
def test_check_lists_schedules_that_are_always_or_never_open_or_change_nothing(entry: str, said: str) -> None:
    """Each is a slip of its author, whose target keeps its bounds."""
    (hint,) = hints(entry)
    assert hint.startswith("autoscaler.yaml:7:17: autoscalers[0].schedules[0]: schedules[0] ")
    assert said in hint


@pytest.mark.parametrize(
    "entry",
    [
        '{cron: "0 8 * * *", until: "0 9 * * *", timezone: UTC, minReplicas: 9}',
        '{cron: "0 8 * * *", duration: 1h, timezone: UTC, minReplicas: 1, replace: true}',
        '{cron: "0 8 * * *", duration: 1h, timezone: UTC, minReplicas: 1, maxReplicas: 10}',
        '{cron: "0 8 * * *", duration: 1h, timezone: UTC, maxReplicas: 21}',
    ],
)
def test_a_schedule_that_changes_a_bound_is_no_warning(entry: str) -> None:
    """Higher, lower with `replace`, or a maximum."""
    assert hints(entry) == []
