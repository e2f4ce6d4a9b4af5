"""The cycles of one shard."""

import threading

import pytest

from autoscaler.cycle import CycleResult
from autoscaler.errors import StateError
from autoscaler.model import ShardName
from autoscaler.schedule.shard import Shard
from autoscaler.target.contract.harness import RecordingLogger
from tests.clocks import FakeClock
from tests.schedule.ports import FakePorts, scaler


class ShardUnderTest:
    """A shard with its ports and log."""

    def __init__(self, *periods: float) -> None:
        self.clock, self.log, self.ports = FakeClock(), RecordingLogger(), FakePorts()
        self.reported: list[CycleResult] = []
        self.scalers = [scaler(f"every-{period:g}", period) for period in periods or (15,)]
        self.shard = Shard(ShardName("fleet"), self.clock, self.log, self.reported.append)
        self.shard.assign(self.ports.work(self.scalers))

    def tick(self, index: int = 0) -> None:
        self.shard.tick(self.scalers[index].sync_period)


def test_a_tick_runs_the_autoscalers_of_its_period() -> None:
    """Autoscalers can have their own sync periods."""
    bench = ShardUnderTest(15, 60)
    bench.tick(1)
    ((only,),) = [batch.decisions for batch in bench.reported]
    assert only.name == "every-60"


@pytest.mark.parametrize(("period", "seconds"), [(2, 1.8), (15, 13.5), (300, 30)])
def test_a_cycle_may_take_most_of_its_period_and_at_most_half_a_minute(period: float, seconds: float) -> None:
    """The cycle must end before the next tick. A cycle over 30 s counts as hung."""
    bench = ShardUnderTest(period)
    bench.tick()
    assert bench.ports.deadlines == [seconds]


@pytest.mark.parametrize(
    ("error", "said"),
    [(StateError("the disk is full"), "the disk is full"), (KeyError("token=hunter2"), "KeyError at ")],
)
def test_a_failing_cycle_is_one_log_line_and_the_next_tick_tries_again(error: Exception, said: str) -> None:
    """No traceback, no secret, and the shard continues."""
    bench = ShardUnderTest()
    bench.ports.fails["recall"] = error
    bench.tick()
    ((level, event, keys),) = bench.log.lines
    assert (level, event, keys["adapter"]) == ("error", "cycle_failed", "fleet")
    assert said in keys["error"]
    assert "\n" not in keys["error"]
    assert "hunter2" not in keys["error"]
    assert bench.reported[0].broken == {"every-15": error}
    bench.ports.fails.clear()
    bench.tick()
    assert len(bench.reported[1].decisions) == 1


def test_a_failing_autoscaler_is_one_log_line() -> None:
    """The line names the autoscaler and the place of the bug."""
    bench = ShardUnderTest()
    bench.ports.broken = {"every-15"}
    bench.tick()
    ((level, event, keys),) = bench.log.lines
    assert (level, event, keys["autoscaler"]) == ("error", "autoscaler_failed", "every-15")
    assert "please report it" in keys["error"]


def test_a_damaged_history_is_reported_with_the_states_message() -> None:
    """This is not a bug, and the operator can repair it."""
    bench = ShardUnderTest()
    bench.ports.fails_for["recall"] = {"every-15": StateError("its row is damaged; restore a backup")}
    bench.tick()
    ((_, event, keys),) = bench.log.lines
    assert (event, keys["error"]) == ("autoscaler_failed", "its row is damaged; restore a backup")


def test_a_write_that_could_not_be_recorded_is_logged() -> None:
    """Nothing else knows of the write until a later cycle reads the size."""
    bench = ShardUnderTest()
    bench.ports.fails_for["record"] = {"every-15": TypeError()}
    bench.tick()
    level, event, keys = bench.log.lines[-1]
    assert (level, event, keys["autoscaler"]) == ("error", "write_not_recorded", "every-15")
    assert keys["error"].startswith("size 3 was written; it stays an unfinished write")


def test_a_tick_still_queued_when_the_shard_is_emptied_does_nothing() -> None:
    """After a reload removed its autoscalers, no late tick may write."""
    bench = ShardUnderTest()
    bench.shard.assign(None)
    bench.tick()
    assert bench.ports.calls == []
    assert bench.reported == []


def test_a_shard_has_begun_once_its_first_cycle_reached_its_deadline() -> None:
    """A shard that hangs from the start must not keep the daemon from becoming ready."""
    bench = ShardUnderTest()
    assert not bench.shard.begun()
    bench.clock.advance(15)
    assert bench.shard.begun()


def test_a_shard_has_begun_once_its_first_cycle_ended() -> None:
    """Also if it failed: READY does not wait for Prometheus."""
    bench = ShardUnderTest()
    bench.ports.fails["recall"] = StateError("no")
    bench.tick()
    assert bench.shard.begun()


def test_a_running_cycle_is_busy_until_its_deadline_and_then_hung() -> None:
    """A stop waits for a busy shard, but not for a hung one."""
    bench = ShardUnderTest()
    inside, leave = threading.Event(), threading.Event()

    def wait() -> None:
        inside.set()
        leave.wait()

    bench.ports.before_observe = wait
    thread = threading.Thread(target=bench.tick)
    thread.start()
    try:
        inside.wait()
        assert (bench.shard.busy(), bench.shard.hung(), bench.shard.overdue_seconds()) == (True, False, 0)
        bench.clock.advance(14.5)
        assert (bench.shard.busy(), bench.shard.hung(), bench.shard.overdue_seconds()) == (False, True, 1)
    finally:
        leave.set()
        thread.join()
    assert (bench.shard.busy(), bench.shard.hung(), bench.shard.overdue_seconds()) == (False, False, 0)


def test_a_shard_is_alive_while_its_cycles_end() -> None:
    """The watchdog must not treat a period of five minutes as a hang."""
    bench = ShardUnderTest(300)
    bench.tick()
    bench.clock.advance(330)
    assert bench.shard.alive()
    bench.clock.advance(600)
    assert not bench.shard.alive()


def test_a_cycle_that_fails_is_progress() -> None:
    """An outage of Prometheus must not make the watchdog restart the daemon."""
    bench = ShardUnderTest()
    bench.ports.fails["recall"] = StateError("no")
    for _ in range(10):
        bench.clock.advance(15)
        bench.tick()
        assert bench.shard.alive()


def test_a_cycle_reports_its_shard_lateness_and_duration() -> None:
    """These values show operators a shard that falls behind."""
    bench = ShardUnderTest()
    bench.ports.before_observe = lambda: bench.clock.advance(2)
    bench.ports.seconds = 1.5
    bench.shard.due(bench.clock.monotonic())
    bench.clock.advance(0.5)
    bench.tick()
    (batch,) = bench.reported
    assert batch.shard == ShardName("fleet")
    assert (batch.late_seconds, batch.observing_seconds, batch.seconds) == (0.5, 1.5, 2)


def test_a_cycle_that_fails_is_timed_too() -> None:
    """Durations matter most during an outage."""
    bench = ShardUnderTest()
    bench.ports.before_observe = lambda: bench.clock.advance(2)
    bench.ports.fails["recall"] = StateError("no")
    bench.tick()
    (batch,) = bench.reported
    assert (batch.shard, batch.seconds) == (ShardName("fleet"), 2)


@pytest.mark.parametrize("step", [-3600, 3600, 86400])
def test_a_clock_change_makes_no_cycle_early_or_late(step: float) -> None:
    """Lateness shows how busy the machine is."""
    bench = ShardUnderTest()
    bench.shard.due(bench.clock.monotonic())
    bench.clock.step(step)
    bench.clock.advance(0.5)
    bench.tick()
    assert bench.reported[0].late_seconds == 0.5


def test_a_cycle_gets_one_reading_of_both_clocks() -> None:
    """Otherwise a clock change between two readings would make history and current time disagree."""
    bench = ShardUnderTest()
    bench.tick()
    (call,) = bench.ports.asked
    assert call.moment is not None
    assert call.moment.now == call.now


def test_work_that_failed_to_start_is_started_by_the_next_cycle() -> None:
    """Otherwise later cycles would use the state of the previous work."""
    bench = ShardUnderTest()
    bench.ports.fails["begin"] = StateError("the disk is full")
    bench.tick()
    assert bench.log.events == ["cycle_failed"]
    assert bench.ports.calls == []
    del bench.ports.fails["begin"]
    bench.tick()
    bench.tick()
    assert bench.ports.begun == 1
    assert [len(batch.decisions) for batch in bench.reported] == [0, 1, 1]
