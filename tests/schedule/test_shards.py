"""All shards on a real APScheduler."""

import threading
import time
from collections.abc import Iterator
from datetime import datetime, timedelta, tzinfo

import pytest
from apscheduler.schedulers import base as apscheduler_base

from autoscaler.cycle import CycleResult
from autoscaler.model import ShardName
from autoscaler.schedule.shard import Shard
from autoscaler.schedule.shards import Shards
from autoscaler.target.contract.harness import RecordingLogger
from autoscaler.threads import NoThread
from tests.clocks import MovedClock
from tests.schedule.ports import FakePorts, scaler
from tests.waiting import PATIENCE_SECONDS, until

pytestmark = pytest.mark.slow  # hanging shards use their whole second of grace


class RunningShards:
    """Shards, their log, and the number of calls to each."""

    def __init__(self) -> None:
        self.clock, self.log = MovedClock(), RecordingLogger()
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


def ignore(batch: CycleResult) -> None:
    """Do nothing."""


@pytest.fixture
def running() -> Iterator[RunningShards]:
    running = RunningShards()
    yield running
    running.leave.set()
    running.shards.stop()


def test_every_shard_ticks_at_once_and_again(running: RunningShards) -> None:
    """The first cycle starts at once, the next after its period. APScheduler reserves the name `default`."""
    running.shard("default", 0.1)
    running.shard("b", 0.1, 0.15)
    running.shards.start()
    until(lambda: running.cycles("default") >= 3 and running.cycles("b") >= 5)


def test_a_hanging_shard_delays_no_other(running: RunningShards) -> None:
    """Each shard has its own thread. Readiness and watchdog depend on those that continue."""
    hanging = running.shard("hanging", 0.05, hangs=True)
    running.shard("sound", 0.05)
    running.shards.start()
    until(lambda: hanging.hung() and running.cycles("sound") >= 20)
    assert running.cycles("hanging") == 0
    assert running.shards.hung() == (ShardName("hanging"),)
    assert running.shards.begun()
    assert running.shards.alive()


def test_shards_can_change_while_other_threads_read_them(
    running: RunningShards, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The page and /metrics read from their own threads during a reload."""
    sound, leaving = running.shard("sound", 0.05), running.shard("leaving", 0.05)

    def retires_another(_: Shard) -> bool:
        if running.shards.missed().keys() == {"sound", "leaving"}:
            running.shards.retire([leaving], wait=False)
        return False

    running.shards.start()
    monkeypatch.setattr(type(sound), "hung", retires_another)
    assert running.shards.hung() == ()


def test_when_all_shards_hang_there_is_no_progress(running: RunningShards) -> None:
    """Then the watchdog must restart the daemon."""
    running.shard("a", 0.05, hangs=True)
    running.shard("b", 0.05, hangs=True)
    running.shards.start()
    until(lambda: not running.shards.alive())


def test_missed_ticks_are_logged_and_counted(running: RunningShards) -> None:
    """APScheduler only writes a line to the standard library's log."""
    running.shard("a", 0.05, hangs=True)
    running.shards.start()
    until(lambda: running.shards.missed()["a"] >= 2)
    level, event, keys = running.log.lines[0]
    assert (level, event, keys["adapter"], keys["missed"]) == ("warning", "tick_missed", "a", 1)


def test_a_removed_period_stops_ticking_and_a_new_one_starts(running: RunningShards) -> None:
    """A reload that changes a sync period moves no other batch of the shard."""
    shard = running.shard("a", 0.05)
    running.shards.start()
    until(lambda: running.cycles("a") >= 1)
    fresh = FakePorts()
    shard.assign(fresh.work([scaler("slow", 0.07)]))
    running.shards.reschedule(shard)
    until(lambda: fresh.recorded.count("slow") >= 2)
    assert set(fresh.recorded) == {"slow"}


def test_a_retired_shard_has_ended_its_cycle_and_never_ticks_again(running: RunningShards) -> None:
    """The daemon closes its adapter next."""
    shard = running.shard("a", 0.05)
    running.shards.start()
    until(lambda: running.cycles("a") >= 1)
    running.shards.retire([shard])
    asked = len(running.ports["a"].calls)
    running.shard("b", 0.05)
    until(lambda: running.cycles("b") >= 3)
    assert len(running.ports["a"].calls) == asked
    assert running.ports["a"].calls[-1] == "announce"  # the last call of a cycle


def test_stopping_waits_for_a_cycle_that_ends(running: RunningShards) -> None:
    """SIGTERM lets the cycle end, because a write must be recorded."""
    inside = threading.Event()

    def slow() -> None:
        inside.set()
        time.sleep(0.3)

    running.shard("a", 5)
    running.ports["a"].before_observe = slow
    running.shards.start()
    assert inside.wait(PATIENCE_SECONDS)
    running.shards.stop()
    assert running.cycles("a") == 1


def test_stopping_does_not_wait_for_a_hanging_shard(running: RunningShards) -> None:
    """The process must end without its thread."""
    shard = running.shard("a", 0.05, hangs=True)
    running.shards.start()
    until(shard.hung)
    running.shards.stop()
    assert shard.hung()


def test_a_single_cycle_needs_no_schedule(running: RunningShards) -> None:
    """`--once` runs every batch of every shard."""
    running.shard("a", 5, 15)
    running.shard("b", 60)
    assert running.shards.once()
    assert (running.cycles("a"), running.cycles("b")) == (2, 1)


def test_a_hanging_single_cycle_is_abandoned(running: RunningShards) -> None:
    """`--once` in a script must return."""
    running.shard("a", 0.1, hangs=True)
    assert not running.shards.once()


@pytest.fixture
def apscheduler_follows(running: RunningShards, monkeypatch: pytest.MonkeyPatch) -> None:
    """Make APScheduler use the given clock; it reads the wall clock itself."""
    clock = running.clock

    class Wall(datetime):
        @classmethod
        def now(cls, tz: tzinfo | None = None) -> "Wall":
            return cls.fromtimestamp(clock.now().timestamp(), tz)

    monkeypatch.setattr(apscheduler_base, "datetime", Wall)


@pytest.mark.usefixtures("apscheduler_follows")
def test_a_wall_clock_set_back_stalls_nothing(running: RunningShards) -> None:
    """Otherwise APScheduler would wait for the length of the step."""
    running.shard("a", 0.1)
    running.shards.start()
    until(lambda: running.cycles("a") >= 2)
    running.clock.ahead = timedelta(hours=-1)
    before = -1
    while before != running.cycles("a"):  # what is due still runs; the next tick is an hour away
        before = running.cycles("a")
        time.sleep(0.3)
    running.shards.follow_clock()
    until(lambda: running.cycles("a") >= before + 3)
    (step,) = [keys["seconds"] for keys in running.log.of("clock_stepped")]
    assert step == pytest.approx(-3600, abs=1)


@pytest.mark.usefixtures("apscheduler_follows")
def test_a_wall_clock_set_forward_by_a_day_repeats_no_tick(running: RunningShards) -> None:
    """The day has not passed, so 864,000 ticks were not missed."""
    running.shard("a", 0.1)
    running.shards.start()
    until(lambda: running.cycles("a") >= 2)
    before, began = running.cycles("a"), time.monotonic()
    running.clock.ahead = timedelta(days=1)
    until(lambda: running.cycles("a") >= before + 3)
    running.shards.follow_clock()
    until(lambda: running.cycles("a") >= before + 6)
    assert running.cycles("a") - before <= (time.monotonic() - began) / 0.1 + 2
    assert running.shards.missed()["a"] < 1000  # a busy machine misses a few


def test_sleep_of_the_machine_is_no_clock_step(running: RunningShards) -> None:
    """The wall clock and CLOCK_BOOTTIME continued; only CLOCK_MONOTONIC stopped."""
    running.clock.sleep(8 * 3600)
    running.shards.follow_clock()
    assert "clock_stepped" not in running.log.events


def test_an_unchanged_clock_moves_no_tick(running: RunningShards) -> None:
    """The daemon calls follow_clock about every second."""
    running.shard("a", 60)
    running.shards.start()
    until(lambda: running.cycles("a") == 1)
    for _ in range(3):
        running.shards.follow_clock()
    assert "clock_stepped" not in running.log.events
    assert running.cycles("a") == 1


def test_ticks_that_found_no_thread_at_the_start_begin_later(
    running: RunningShards, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The process is out of threads for a moment. It must not end, nor serve its page for ever without a cycle."""
    running.shard("a", 0.5)

    def refused(thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    with monkeypatch.context() as patched:
        patched.setattr(threading.Thread, "start", refused)
        for start in (running.shards.start, running.shards.keep_up):
            with pytest.raises(NoThread):
                start()
    assert running.cycles("a") == 0
    running.shards.keep_up()
    until(lambda: running.cycles("a") > 0)


def test_ticks_whose_thread_has_ended_go_on(running: RunningShards, monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise a defect of the scheduler leaves a daemon that serves its page and never decides."""
    running.shard("a", 0.5)

    def ends() -> None:
        raise KeyError("a job that was removed meanwhile")

    with monkeypatch.context() as patched:
        patched.setattr(running.shards._scheduler, "loop", ends)
        running.shards.start()
        until(lambda: running.shards._loop is not None and running.shards._loop.done())
    assert running.cycles("a") == 0
    running.shards.keep_up()
    until(lambda: running.cycles("a") > 0)
    ((_, event, keys),) = running.log.lines
    assert event == "ticks_stopped"
    assert keys["error"].startswith("KeyError at ")
