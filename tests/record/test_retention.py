"""Old data is deleted tier by tier, a little at a time."""

from datetime import timedelta
from math import ceil

import pytest

from autoscaler.record.archive import Archive
from autoscaler.record.housekeeping import Retention
from autoscaler.record.ledger import Ledger
from tests.record.conftest import Opener, each_database, kept_for
from tests.record.samples import FLEET, START, at, count_rows, decision, event, keep, noise, scaler

HOUR = 3600.0
DETAIL = kept_for(detail=timedelta(hours=2), retention=timedelta(hours=12))
pytestmark = [pytest.mark.usefixtures("short_blocks"), pytest.mark.slow]  # hours of cycles each


def hourly(ledger: Ledger, hours: float, *names: str, first: float = 0) -> None:
    """Record a cycle with an event every quarter of an hour, an hour in each block, with a change in every fourth."""
    for quarter in range(int(4 * first), int(4 * hours)):
        size = 5 + quarter // 4 % 3
        keep(ledger, *(decision(900 * quarter, name, size=size, events=[event()]) for name in names or ("web",)))


def hours_of(archive: Archive, name: str = "web") -> list[float]:
    """Return the times of its recorded cycles, in hours."""
    return [(record.decision.now - START).total_seconds() / HOUR for record in archive.records(name)]


@each_database
def test_old_detail_is_deleted_and_the_rest_stays(opener: Opener) -> None:
    """The inputs of decisions are kept for two days, the data of charts and events for thirty."""
    ledger = opener.ledger(DETAIL)
    hourly(ledger, 8)
    archive = opener.archive()
    assert 4.5 <= hours_of(archive)[0] <= 6
    assert hours_of(archive)[-1] == 7.75
    assert len(archive.series("web")) == len(hours_of(archive)) + ceil(hours_of(archive)[0])  # a change an hour
    assert sum(row.count for row in archive.events("web")) == 32
    assert count_rows(ledger, "change") == 8


@each_database
def test_everything_older_than_the_retention_is_deleted(opener: Opener) -> None:
    ledger = opener.ledger(kept_for(detail=timedelta(hours=2), retention=timedelta(hours=4)))
    hourly(ledger, 12)
    archive = opener.archive()
    first = archive.series("web")[0].time
    assert at(6.5 * HOUR) <= first <= at(8 * HOUR)
    assert sum(row.count for row in archive.events("web")) <= 18
    assert archive.events("web")[0].first >= at(7.5 * HOUR)
    assert count_rows(ledger, "change") <= 5


def test_specifications_are_deleted_with_their_last_cycle(opener: Opener) -> None:
    """Each reload that changes an autoscaler adds one."""
    ledger = opener.ledger(kept_for(timedelta(hours=2), timedelta(hours=2)))
    for hour in range(8):
        for quarter in range(4):
            changed = scaler(maximum=20 + hour)
            keep(ledger, decision(HOUR * hour + 900 * quarter), scalers=[changed])
    assert count_rows(ledger, "spec") <= 4
    archive = opener.archive()
    kept = [record.scaler.max_replicas for record in archive.records("web")]
    assert (kept[0], kept[-1]) == (25, 27)


def test_without_detail_the_last_change_is_shown(opener: Opener) -> None:
    """`explain --at` shows the decision and its reason, and names what it no longer knows."""
    ledger = opener.ledger(DETAIL)
    hourly(ledger, 8)
    record = opener.archive().record_at("web", at(2.6 * HOUR))
    assert record is not None
    assert (record.observation, record.history) == (None, None)
    assert record.decision == decision(2 * HOUR, size=7, events=[event()])
    assert record.scaler == scaler()


def test_the_last_change_of_a_removed_autoscaler_stays(opener: Opener) -> None:
    """What followed is deleted with the detail."""
    ledger = opener.ledger(DETAIL)
    hourly(ledger, 2, "web", "other")
    hourly(ledger, 8, "other", first=2)
    record = opener.archive().record_at("web")
    assert record is not None
    assert (record.decision.now, record.observation) == (at(HOUR), None)
    assert hours_of(opener.archive()) == []


def test_a_shorter_retention_counts_from_the_next_cycle_on(opener: Opener) -> None:
    """A reload of the configuration sets it."""
    state = opener.state(kept_for())
    ledger = state.ledger(FLEET)
    hourly(ledger, 8)
    assert hours_of(opener.archive())[0] == 0
    state.follow(DETAIL, [scaler()])
    keep(ledger, decision(8 * HOUR))
    assert hours_of(opener.archive())[0] > 4


def test_old_data_is_deleted_a_little_at_a_time(opener: Opener) -> None:
    """A shorter retention must not delay a cycle by a million deletions."""
    state = opener.state(kept_for())
    ledger = state.ledger(FLEET)
    names = [f"s{number}" for number in range(700)]
    for seconds in (0, 1, 2):
        keep(ledger, *(decision(seconds, name, events=[event()]) for name in names))
    state.follow(DETAIL, [scaler(name) for name in names])
    left = []
    for cycle in range(4):
        keep(ledger, decision(20 * HOUR + 15 * cycle))
        left.append(count_rows(ledger, "event"))
    assert left == [700, 0, 0, 0]  # at least 1,000, and all rows of one cycle


def test_upkeep_runs_once_a_minute(opener: Opener) -> None:
    """It need not run in every cycle."""
    ledger = opener.ledger(kept_for(retention=timedelta(hours=1)))
    keep(ledger, decision(0, events=[event()]))
    events = []
    for seconds in (HOUR - 10, HOUR + 10, HOUR + 40, HOUR + 60):
        keep(ledger, decision(seconds))
        events.append(count_rows(ledger, "event"))
    assert events == [1, 1, 1, 0]


def test_a_sqlite_file_shrinks_when_less_is_kept(opener: Opener, monkeypatch: pytest.MonkeyPatch) -> None:
    """Free space is returned to the disk, except a little that is used again at once."""
    monkeypatch.setattr("autoscaler.record.housekeeping._PAGES_KEPT_FREE", 8)
    ledger = opener.ledger(kept_for())
    for cycle in range(24):
        keep(ledger, decision(900 * cycle), seen=noise(cycle, 3_000))
    opener.close()  # which writes the log into the file
    file = opener.folder / "state.db"
    before = file.stat().st_size
    ledger = opener.ledger(kept_for(detail=timedelta(hours=1)))
    for cycle in range(24, 30):
        keep(ledger, decision(900 * cycle))
    opener.close()
    assert file.stat().st_size < before / 2


def test_the_defaults_are_those_of_the_configuration() -> None:
    assert Retention() == Retention(timedelta(days=2), timedelta(days=30), 5 * 10**9)


def test_a_step_that_fails_keeps_no_other_from_being_done(opener: Opener, monkeypatch: pytest.MonkeyPatch) -> None:
    """One damaged row would otherwise let the whole state grow for ever. The failure is told, and tried again."""
    ledger = opener.ledger(kept_for(detail=timedelta(hours=2), retention=timedelta(hours=4)))
    hourly(ledger, 3)
    before = count_rows(ledger, "event")

    def fail(*_: object) -> None:
        raise TypeError("a text, where a number is expected")

    monkeypatch.setattr("autoscaler.record.housekeeping.full_chunks", fail)
    with pytest.raises(TypeError):
        ledger._context.housekeeper.tidy(at(30 * HOUR))
    assert before > 0
    assert count_rows(ledger, "event") == 0
    ledger._context.housekeeper.tidy(at(30 * HOUR + 10))  # not due yet
