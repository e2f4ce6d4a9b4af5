"""What schedules cost in a pass. A platform's autoscalers may have tens of thousands of different ones."""

import gc
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from autoscaler import windows
from autoscaler.model import Rules
from autoscaler.rules.schedules import Schedules
from autoscaler.target import AdapterSettings
from autoscaler.windows import ScheduleEntry, Window, is_open
from tests.daemon.runtime import FakeAdapter, on, running_runtime
from tests.replaced import replace

_COUNT = 200
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


def test_the_next_days_windows_are_made_a_few_at_a_time(made: list[datetime]) -> None:
    """Neither midnight nor any pass after the first one makes those of all entries."""
    entries = _different(_COUNT)
    assert _pass(entries, _BEGIN, made) == _COUNT
    work = [_pass(entries, _BEGIN + n * _PERIOD, made) for n in range(1, 36 * 12)]
    assert max(work) <= _COUNT // 20
    assert sum(work) == 2 * _COUNT, "the windows of two more days, each once"


@pytest.mark.slow
def test_many_entries_evict_no_other(made: list[datetime], monkeypatch: pytest.MonkeyPatch) -> None:
    """A cache of 16,384 entries made all windows anew in each pass of 17,000."""

    def none(_: ScheduleEntry, begin: datetime, __: datetime) -> tuple[Window, ...]:
        made.append(begin)
        return ()

    monkeypatch.setattr(ScheduleEntry, "windows", none)
    entries = _different(20_000)
    _pass(entries, _BEGIN, made)
    assert _pass(entries, _BEGIN + _PERIOD, made) < 400


def test_entries_with_the_same_times_share_their_windows(made: list[datetime]) -> None:
    """A shared schedule of ten thousand autoscalers costs as much as one's own."""
    same = [ScheduleEntry(f"s{n}", "UTC", "0 8 * * *", timedelta(hours=1), min_replicas=n) for n in range(100)]
    assert _pass(same, _BEGIN, made) == 1


def test_a_calendar_that_no_entry_uses_is_forgotten() -> None:
    """A reload replaces all entries."""
    entries = _different(10)
    for entry in entries:
        is_open(entry, _BEGIN)
    known = len(windows._CALENDARS)
    del entry, entries
    gc.collect()
    assert len(windows._CALENDARS) <= known - 10


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


def test_the_windows_of_a_configuration_are_made_before_its_first_cycle(
    made: list[datetime], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those of 20,000 entries take seconds, in which no shard could decide."""
    scaler = on("fake", rules=Rules([Schedules(tuple(_different(50)))]))
    with running_runtime(tmp_path, monkeypatch, FakeAdapter) as harness:
        harness.follow({"fake": AdapterSettings()}, [scaler])
        assert len(made) == 50
        assert harness.follow({"fake": AdapterSettings()}, [replace(scaler, max_replicas=7)]) is None
        assert len(made) == 50, "a reload makes those of changed entries alone"
