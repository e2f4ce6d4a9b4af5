"""All shards on a real APScheduler."""

import threading
import time
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta, tzinfo

import pytest
from apscheduler.schedulers import base as apscheduler_base

from autoscaler.clock import SystemClock
from autoscaler.cycle import Batch
from autoscaler.model import ShardName
from autoscaler.moment import Moment
from autoscaler.schedule import Shard, Shards
from autoscaler.target.contract.harness import RecordingLogger
from tests.replaced import replace
from tests.schedule.ports import FakePorts, scaler

pytestmark = pytest.mark.slow  # shards that hang take their second of grace

PATIENCE_SECONDS = 30.0


def until(true: Callable[[], bool]) -> None:
    end = time.monotonic() + PATIENCE_SECONDS
    while not true():
        assert time.monotonic() < end, "did not come true"
        time.sleep(0.01)


class SteppingClock(SystemClock):
    """The machine's clock, with a wall that can be set."""

    def __init__(self) -> None:
        super().__init__()
        self.step = timedelta(0)
        self.slept = timedelta(0)

    def now(self) -> datetime:
        return super().now() + self.step + self.slept

    def moment(self) -> Moment:
        moment = super().moment()
        return replace(moment, elapsed=moment.elapsed + self.slept)


class House:
    """Shards, their log, and what each has been asked."""

    def __init__(self) -> None:
        self.clock, self.log = SteppingClock(), RecordingLogger()
        self.shards = Shards(self.clock, self.log)
        self.ports: dict[str, FakePorts] = {}
        self.leave = threading.Event()

    def shard(self, name: str, *periods: float, hangs: bool = False) -> Shard:
        self.ports[name] = FakePorts(self.leave.wait if hangs else lambda: None)  # type: ignore[arg-type]  # its bool is nobody's
        shard = Shard(ShardName(name), self.clock, self.log, ignore)
        shard.assign(self.ports[name].work([scaler(f"{name}-{period:g}", period) for period in periods]))
        self.shards.add(shard)
        return shard

    def cycles(self, name: str) -> int:
        return self.ports[name].calls.count("record")

    def events(self) -> list[str]:
        return [event for _, event, _ in self.log.lines]


def ignore(batch: Batch) -> None:
    """Nobody listens."""


@pytest.fixture
def house() -> Iterator[House]:
    house = House()
    yield house
    house.leave.set()
    house.shards.stop()


def test_every_shard_ticks_at_once_and_again(house: House) -> None:
    """Its first cycle comes with the start, the next after its period."""
    house.shard("a", 0.1)
    house.shard("b", 0.1, 0.15)
    house.shards.start()
    until(lambda: house.cycles("a") >= 3 and house.cycles("b") >= 5)


def test_a_shard_that_hangs_delays_no_other(house: House) -> None:
    """Each connection has a thread of its own; readiness and watchdog follow those that go on."""
    hanging = house.shard("hanging", 0.05, hangs=True)
    house.shard("sound", 0.05)
    house.shards.start()
    until(lambda: hanging.hung() and house.cycles("sound") >= 20)
    assert house.cycles("hanging") == 0
    assert house.shards.hung() == (ShardName("hanging"),)
    assert house.shards.begun()
    assert house.shards.alive()


def test_shards_may_come_and_go_while_somebody_asks_which_hang(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    """The page and /metrics ask from threads of their own, and a reload does not wait for them."""
    sound, leaving = house.shard("sound", 0.05), house.shard("leaving", 0.05)

    def retires_another(_: Shard) -> bool:
        if house.shards.missed().keys() == {"sound", "leaving"}:
            house.shards.retire([leaving], wait=False)
        return False

    house.shards.start()
    monkeypatch.setattr(type(sound), "hung", retires_another)
    assert house.shards.hung() == ()


def test_when_all_shards_hang_there_is_no_progress(house: House) -> None:
    """Then the watchdog has to bite."""
    house.shard("a", 0.05, hangs=True)
    house.shard("b", 0.05, hangs=True)
    house.shards.start()
    until(lambda: not house.shards.alive())


def test_missed_ticks_are_logged_and_counted(house: House) -> None:
    """APScheduler drops them with a line in the standard library's log that nobody reads."""
    house.shard("a", 0.05, hangs=True)
    house.shards.start()
    until(lambda: house.shards.missed()["a"] >= 2)
    level, event, keys = house.log.lines[0]
    assert (level, event, keys["adapter"], keys["missed"]) == ("warning", "tick_missed", "a", 1)


def test_a_period_that_left_stops_ticking_and_a_new_one_begins(house: House) -> None:
    """A reload that changes a sync period moves no other batch of the shard."""
    shard = house.shard("a", 0.05)
    house.shards.start()
    until(lambda: house.cycles("a") >= 1)
    fresh = FakePorts()
    shard.assign(fresh.work([scaler("slow", 0.07)]))
    house.shards.reschedule(shard)
    until(lambda: fresh.recorded.count("slow") >= 2)
    assert set(fresh.recorded) == {"slow"}


def test_a_retired_shard_has_ended_its_cycle_and_never_ticks_again(house: House) -> None:
    """Its adapter is closed next."""
    shard = house.shard("a", 0.05)
    house.shards.start()
    until(lambda: house.cycles("a") >= 1)
    house.shards.retire([shard])
    asked = len(house.ports["a"].calls)
    house.shard("b", 0.05)
    until(lambda: house.cycles("b") >= 3)
    assert len(house.ports["a"].calls) == asked
    assert asked % 7 == 0  # whole cycles of seven verbs


def test_stopping_waits_for_a_cycle_that_ends(house: House) -> None:
    """SIGTERM finishes the cycle: a write must find its way into the record."""
    inside = threading.Event()

    def slow() -> None:
        inside.set()
        time.sleep(0.3)

    house.shard("a", 5)
    house.ports["a"].before_observe = slow
    house.shards.start()
    assert inside.wait(PATIENCE_SECONDS)
    house.shards.stop()
    assert house.cycles("a") == 1


def test_stopping_does_not_wait_for_a_shard_that_hangs(house: House) -> None:
    """The process must end without its thread."""
    shard = house.shard("a", 0.05, hangs=True)
    house.shards.start()
    until(shard.hung)
    house.shards.stop()
    assert shard.hung()


def test_a_single_cycle_needs_no_schedule(house: House) -> None:
    """`--once`: every batch of every shard, and then it is over."""
    house.shard("a", 5, 15)
    house.shard("b", 60)
    assert house.shards.once()
    assert (house.cycles("a"), house.cycles("b")) == (2, 1)


def test_a_single_cycle_that_hangs_is_left_behind(house: House) -> None:
    """`--once` in a script must come back."""
    house.shard("a", 0.1, hangs=True)
    assert not house.shards.once()


@pytest.fixture
def apscheduler_follows(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    """APScheduler reads the wall clock by itself."""
    clock = house.clock

    class Wall(datetime):
        @classmethod
        def now(cls, tz: tzinfo | None = None) -> "Wall":
            return cls.fromtimestamp(clock.now().timestamp(), tz)

    monkeypatch.setattr(apscheduler_base, "datetime", Wall)


@pytest.mark.usefixtures("apscheduler_follows")
def test_a_wall_clock_set_back_stalls_nothing(house: House) -> None:
    """APScheduler compares wall clock times: left alone, it would wait for the length of the step."""
    house.shard("a", 0.1)
    house.shards.start()
    until(lambda: house.cycles("a") >= 2)
    house.clock.step = timedelta(hours=-1)
    time.sleep(0.3)  # whatever was due has run, and the next is an hour away
    before = house.cycles("a")
    time.sleep(0.3)
    assert house.cycles("a") == before  # the trap is real
    house.shards.follow_clock()
    until(lambda: house.cycles("a") >= before + 3)
    (step,) = [keys["seconds"] for _, event, keys in house.log.lines if event == "clock_stepped"]
    assert step == pytest.approx(-3600, abs=1)
    assert house.shards.clock_steps() == 1


@pytest.mark.usefixtures("apscheduler_follows")
def test_a_wall_clock_set_forward_by_a_day_makes_up_for_no_tick(house: House) -> None:
    """864,000 ticks of this shard have not been missed, for the day has not passed."""
    house.shard("a", 0.1)
    house.shards.start()
    until(lambda: house.cycles("a") >= 2)
    before, began = house.cycles("a"), time.monotonic()
    house.clock.step = timedelta(days=1)
    until(lambda: house.cycles("a") >= before + 3)
    house.shards.follow_clock()
    until(lambda: house.cycles("a") >= before + 6)
    assert house.cycles("a") - before <= (time.monotonic() - began) / 0.1 + 2
    assert house.shards.missed() == {"a": 0}


def test_a_machine_that_slept_has_not_had_its_clock_set(house: House) -> None:
    """The wall clock went on meanwhile, and CLOCK_BOOTTIME with it; CLOCK_MONOTONIC alone stood still."""
    house.clock.slept = timedelta(hours=8)
    house.shards.follow_clock()
    assert "clock_stepped" not in house.events()


def test_a_clock_that_keeps_time_moves_nothing(house: House) -> None:
    """Following the clock is called every second."""
    house.shard("a", 60)
    house.shards.start()
    until(lambda: house.cycles("a") == 1)
    for _ in range(3):
        house.shards.follow_clock()
    assert "clock_stepped" not in house.events()
    assert house.cycles("a") == 1


def test_it_is_quiet_between_two_cycles_and_not_within_one(house: House) -> None:
    """For what holds every thread for a while."""
    house.shard("a", 30)
    house.shards.start()
    until(lambda: house.cycles("a") >= 1 and house.shards.quiet(1))
    assert not house.shards.quiet(60)
    house.shard("b", 30, hangs=True)
    until(lambda: not house.shards.quiet(1))
