"""What is too old goes, tier by tier, a little at a time."""

import random
from datetime import timedelta

import pytest

from autoscaler.model import InstanceReading, Observation
from autoscaler.record import Archive, Ledger, Retention
from tests.record.conftest import Opener, kept_for
from tests.record.samples import FLEET, START, at, count_rows, decision, event, keep, observation, scaler
from tests.replaced import replace
from tests.schedule.clock import FakeClock

HOUR = 3600.0
DETAIL = kept_for(detail=timedelta(hours=2), retention=timedelta(hours=12))
pytestmark = pytest.mark.usefixtures("short_blocks")


def hourly(ledger: Ledger, hours: float, *names: str, first: float = 0) -> None:
    """A cycle every quarter of an hour, an hour's to a block; with an event each, and a change every fourth."""
    for quarter in range(int(4 * first), int(4 * hours)):
        size = 5 + quarter // 4 % 3
        keep(ledger, *(decision(900 * quarter, name, size=size, events=[event()]) for name in names or ("web",)))


def hours_of(archive: Archive, name: str = "web") -> list[float]:
    """When its recorded cycles were, in hours."""
    return [(record.decision.now - START).total_seconds() / HOUR for record in archive.records(name)]


def noise(seed: int, replicas: int = 200) -> Observation:
    """What does not pack well."""
    chance, seen = random.Random(seed), observation(replicas)
    (reading,) = seen.readings
    assert isinstance(reading, InstanceReading)
    samples = {name: replace(sample, value=chance.randrange(10**9)) for name, sample in reading.samples.items()}
    return replace(seen, readings=(replace(reading, samples=samples),))


def test_detail_past_its_time_goes_and_the_rest_stays(opener: Opener) -> None:
    """Everything a decision was made from for two days, what charts and events need for thirty."""
    ledger = opener.ledger(DETAIL)
    hourly(ledger, 8)
    archive = opener.archive()
    assert 4.5 <= hours_of(archive)[0] <= 6
    assert hours_of(archive)[-1] == 7.75
    assert len(archive.series("web")) == 32
    assert sum(row.count for row in archive.events("web")) == 32
    assert count_rows(ledger, "change") == 8


def test_everything_past_the_retention_goes(opener: Opener) -> None:
    ledger = opener.ledger(kept_for(detail=timedelta(hours=2), retention=timedelta(hours=4)))
    hourly(ledger, 12)
    archive = opener.archive()
    first = archive.series("web")[0].at
    assert at(6.5 * HOUR) <= first <= at(8 * HOUR)
    assert sum(row.count for row in archive.events("web")) <= 18
    assert archive.events("web")[0].first >= at(7.5 * HOUR)
    assert count_rows(ledger, "change") <= 5
    assert count_rows(ledger, "event_text") == 1


def test_texts_of_events_go_with_the_last_of_them(opener: Opener) -> None:
    """Messages with numbers in them would pile up for ever."""
    ledger = opener.ledger(DETAIL)
    keep(ledger, decision(0, events=[event(message="New size: 9")]))
    hourly(ledger, 14, first=13)
    assert [row.message for row in opener.archive().events("web")] == ["New size: 8"]
    assert count_rows(ledger, "event_text") == 1


def test_beyond_detail_the_last_change_is_known(opener: Opener) -> None:
    """`explain --at` shows what was decided and why, and says what it no longer knows."""
    ledger = opener.ledger(DETAIL)
    hourly(ledger, 8)
    record = opener.archive().record_at("web", at(2.6 * HOUR))
    assert record is not None
    assert (record.observation, record.history) == (None, None)
    assert record.decision == decision(2 * HOUR, size=7, events=[event()])
    assert record.scaler == scaler()


def test_within_detail_a_record_is_exact(opener: Opener) -> None:
    ledger = opener.ledger(DETAIL)
    hourly(ledger, 8)
    record = opener.archive().record_at("web", at(6.3 * HOUR))
    assert record is not None
    assert record.decision.now == at(6.25 * HOUR)
    assert record.observation == observation()
    assert record.history is not None


def test_of_one_that_left_the_last_decision_stays(opener: Opener) -> None:
    """It is a part of what is remembered for its return; what it was made from goes with the detail."""
    ledger = opener.ledger(DETAIL)
    hourly(ledger, 2, "web", "other")
    hourly(ledger, 8, "other", first=2)
    record = opener.archive().record_at("web")
    assert record is not None
    assert (record.decision.now, record.observation) == (at(1.75 * HOUR), None)
    assert hours_of(opener.archive()) == []


def test_a_shorter_retention_counts_from_the_next_cycle_on(opener: Opener) -> None:
    """A reload of the configuration."""
    state = opener.state(kept_for())
    ledger = state.ledger(FLEET)
    hourly(ledger, 8)
    assert hours_of(opener.archive())[0] == 0
    state.follow(DETAIL, [scaler()])
    keep(ledger, decision(8 * HOUR))
    assert hours_of(opener.archive())[0] > 4


def test_a_little_is_deleted_at_a_time_until_all_is(opener: Opener) -> None:
    """A retention made shorter must not hold up a cycle with a million deletions."""
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
    assert left == [700, 0, 0, 0]  # at least 1,000, and all of one cycle


def test_nothing_is_looked_for_in_every_cycle(opener: Opener) -> None:
    """A look a minute is enough when there is nothing to do."""
    ledger = opener.ledger(kept_for(retention=timedelta(hours=1)))
    keep(ledger, decision(0, events=[event()]))
    events = []
    for seconds in (HOUR - 10, HOUR + 10, HOUR + 40, HOUR + 60):
        keep(ledger, decision(seconds))
        events.append(count_rows(ledger, "event"))
    assert events == [1, 1, 1, 0]


@pytest.mark.parametrize("step", [40 * 24 * HOUR, -40 * 24 * HOUR, 40 * 365 * 24 * HOUR])
@pytest.mark.usefixtures("short_blocks")
def test_a_clock_that_is_set_makes_nothing_old_or_young(sqlite_opener: Opener, step: float) -> None:
    """An archive of 30 days outlives a step of 40 days, and what is 30 days old goes however the clock was set."""
    clock = FakeClock(at(0))
    state = sqlite_opener.state(kept_for(detail=timedelta(hours=2), retention=timedelta(hours=4)))
    ledger = state.ledger(FLEET)

    def quarter(count: int) -> None:
        for _ in range(count):
            clock.advance(HOUR / 4)
            ledger.follow_clock(clock.moment())
            keep(ledger, decision((clock.now() - at(0)).total_seconds(), events=[event()]))

    def kept() -> list[int]:
        return [len(list(state.archive.records("web"))), len(state.archive.series("web")), count_rows(ledger, "event")]

    quarter(7)
    clock.step(step)
    quarter(1)
    assert kept() == [8, 8, 8]
    quarter(12)
    detail, series, events = kept()
    assert 8 <= detail <= 12  # blocks of four go as a whole
    assert 16 <= series <= 20
    assert events == 17
    times = [record.decision.now for record in state.archive.records("web")]
    assert times == sorted(times)  # what was before the step is gone


@pytest.mark.usefixtures("short_blocks")
def test_an_autoscaler_that_left_is_not_forgotten_for_a_clock_that_is_set(sqlite_opener: Opener) -> None:
    """It was decided about a minute ago."""
    clock = FakeClock(at(0))
    ledger = sqlite_opener.ledger(kept_for(retention=timedelta(hours=4)))
    ledger.follow_clock(clock.moment())
    keep(ledger, decision(0, "gone", "gone"))
    clock.step(1000 * HOUR)
    clock.advance(60)
    ledger.follow_clock(clock.moment())
    keep(ledger, decision(1000 * HOUR + 60))
    assert sqlite_opener.archive().knows("gone")


def test_a_sqlite_file_shrinks_when_less_is_kept(sqlite_opener: Opener, monkeypatch: pytest.MonkeyPatch) -> None:
    """Freed space goes back to the disk, but for a little that is used again at once."""
    monkeypatch.setattr("autoscaler.record.housekeeping._PAGES_KEPT_FREE", 8)
    ledger = sqlite_opener.ledger(kept_for())
    for cycle in range(24):
        keep(ledger, *(decision(900 * cycle, f"s{k}") for k in range(20)), seen=noise(cycle))
    sqlite_opener.close()  # which writes the log into the file
    file = sqlite_opener.folder / "state.db"
    before = file.stat().st_size
    ledger = sqlite_opener.ledger(kept_for(detail=timedelta(hours=1)))
    for cycle in range(24, 30):
        keep(ledger, *(decision(900 * cycle, f"s{k}") for k in range(20)))
    sqlite_opener.close()
    assert file.stat().st_size < before / 2


def test_defaults_are_those_of_the_configuration() -> None:
    assert Retention() == Retention(timedelta(days=2), timedelta(days=30), 5 * 10**9)
