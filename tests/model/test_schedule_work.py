"""What schedules cost in a pass. A platform's autoscalers may have tens of thousands of different ones."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

import pytest

from autoscaler.model import ScheduleEntry
from autoscaler.model.schedule import Window, is_open

_BEGIN = datetime(2026, 5, 4, 12, tzinfo=UTC)
_PERIOD = timedelta(minutes=5)


def _different(count: int) -> list[ScheduleEntry]:
    return [
        ScheduleEntry(f"s{n}", "UTC", f"{n % 60} {n // 60 % 24} * * *", timedelta(minutes=30 + n // 1440))
        for n in range(count)
    ]


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[datetime]:
    """The begins of the days whose windows were made, of which each takes a third of a millisecond."""
    begins = list[datetime]()
    genuine = ScheduleEntry.windows

    def windows(entry: ScheduleEntry, begin: datetime, end: datetime) -> object:
        begins.append(begin)
        return genuine(entry, begin, end)

    monkeypatch.setattr(ScheduleEntry, "windows", windows)
    return begins


def _pass(entries: Sequence[ScheduleEntry], at: datetime, made: list[datetime]) -> int:
    """Ask whether each is open. Return how often windows were made."""
    before = len(made)
    for entry in entries:
        is_open(entry, at)
    return len(made) - before


def test_many_entries_evict_no_other(made: list[datetime], monkeypatch: pytest.MonkeyPatch) -> None:
    """A cache of 16,384 entries made all windows anew in each pass of 17,000."""

    def none(_: ScheduleEntry, begin: datetime, __: datetime) -> tuple[Window, ...]:
        made.append(begin)
        return ()

    monkeypatch.setattr(ScheduleEntry, "windows", none)
    entries = _different(20_000)
    assert _pass(entries, _BEGIN, made) == 20_000
    assert _pass(entries, _BEGIN + _PERIOD, made) == 0


def test_entries_with_the_same_times_share_their_windows(made: list[datetime]) -> None:
    """A shared schedule of ten thousand autoscalers costs as much as one's own."""
    same = [ScheduleEntry(f"s{n}", "UTC", "0 8 * * *", timedelta(hours=1), min_replicas=n) for n in range(100)]
    assert _pass(same, _BEGIN, made) == 1


def test_the_order_of_questions_changes_no_answer() -> None:
    """A replay asks about last week, an explanation about tomorrow, and the clock may be set."""
    entries = [*_different(10), ScheduleEntry("n", "Europe/Berlin", "0 20 * * *", None, until="0 6 * * *")]
    times = [_BEGIN + timedelta(minutes=97 * n) for n in range(40)]
    expected = {
        (entry.name, at): any(each.begin <= at < each.end for each in _fresh_windows(entry, at))
        for entry in entries
        for at in times
    }
    for order in (times, times[::-1], times[::3] + times[1::3] + times[2::3]):
        for at in order:
            assert [is_open(entry, at) for entry in entries] == [expected[entry.name, at] for entry in entries]


def _fresh_windows(entry: ScheduleEntry, at: datetime) -> list[Window]:
    return list(entry.windows(at - timedelta(days=1), at + timedelta(days=1)))


def test_asking_changes_nothing_that_is_compared_or_copied() -> None:
    """The windows are no part of the configuration."""
    one, other = _different(1)[0], _different(1)[0]
    is_open(one, _BEGIN)
    assert (one, hash(one), repr(one)) == (other, hash(other), repr(other))
