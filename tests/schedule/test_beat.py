"""When a job is due."""

from datetime import timedelta

import pytest

from autoscaler.schedule.beat import Beat
from tests.schedule.clock import FakeClock

PERIOD = timedelta(seconds=15)


def next_in(beat: Beat, clock: FakeClock) -> float:
    """Seconds until the tick after the one that fires now."""
    now = clock.now()
    return (beat.get_next_fire_time(now, now) - now).total_seconds()


def test_the_first_tick_comes_at_once() -> None:
    """A daemon that starts decides at once, and is ready soon."""
    clock = FakeClock()
    assert Beat(PERIOD, 1.0, clock).get_next_fire_time(None, clock.now()) == clock.now()


def test_the_second_comes_a_period_and_the_phase_later() -> None:
    """The phase keeps shards apart."""
    clock = FakeClock()
    assert next_in(Beat(PERIOD, 1.0, clock), clock) == pytest.approx(16)


def test_lateness_does_not_accumulate() -> None:
    """Each tick half a second late, a hundred times: the hundredth is half a second late."""
    clock = FakeClock()
    beat = Beat(PERIOD, 0.0, clock)
    clock.advance(0.5)
    for _ in range(100):
        clock.advance(next_in(beat, clock) + 0.5)
    assert clock.monotonic() == pytest.approx(1500.5)


def test_what_was_missed_is_not_made_up_for() -> None:
    """After a suspended hour one cycle is due, not 240."""
    clock = FakeClock()
    beat = Beat(PERIOD, 0.0, clock)
    clock.advance(3601)
    assert next_in(beat, clock) == pytest.approx(14)


def test_a_tick_that_comes_a_little_early_does_not_fire_twice() -> None:
    """The wall clock, by which the scheduler wakes, is slewed against the monotonic one."""
    clock = FakeClock()
    beat = Beat(PERIOD, 0.0, clock)
    clock.advance(14.99)
    assert next_in(beat, clock) == pytest.approx(15.01)


@pytest.mark.parametrize("step", [-3600, 3600])
def test_a_step_of_the_wall_clock_moves_no_tick(step: float) -> None:
    """The next tick is as far away as it was."""
    clock = FakeClock()
    beat = Beat(PERIOD, 0.0, clock)
    clock.advance(20)
    before = next_in(beat, clock)
    clock.step(step)
    assert next_in(beat, clock) == pytest.approx(before)
