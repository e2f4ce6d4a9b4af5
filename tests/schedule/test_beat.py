"""The times at which a job is due."""

from datetime import timedelta

import pytest

from autoscaler.schedule.beat import Beat
from tests.clocks import FakeClock

PERIOD = timedelta(seconds=15)


def next_in(beat: Beat, clock: FakeClock) -> float:
    """Return the seconds from the current tick to the next."""
    now = clock.now()
    return (beat.get_next_fire_time(now, now) - now).total_seconds()


def test_the_first_tick_comes_at_once() -> None:
    """A starting daemon decides at once and is soon ready."""
    clock = FakeClock()
    assert Beat(PERIOD, 1.0, clock).get_next_fire_time(None, clock.now()) == clock.now()


def test_the_second_comes_a_period_and_the_phase_later() -> None:
    """The phase spreads the shards' ticks."""
    clock = FakeClock()
    assert next_in(Beat(PERIOD, 1.0, clock), clock) == pytest.approx(16)


def test_lateness_does_not_accumulate() -> None:
    """A hundred ticks that are each half a second late: the hundredth is half a second late."""
    clock = FakeClock()
    beat = Beat(PERIOD, 0.0, clock)
    clock.advance(0.5)
    for _ in range(100):
        clock.advance(next_in(beat, clock) + 0.5)
    assert clock.monotonic() == pytest.approx(1500.5)


def test_missed_ticks_are_not_repeated() -> None:
    """After an hour of suspension one cycle is due, not 240."""
    clock = FakeClock()
    beat = Beat(PERIOD, 0.0, clock)
    clock.advance(3601)
    assert next_in(beat, clock) == pytest.approx(14)


def test_a_slightly_early_tick_does_not_fire_twice() -> None:
    """The scheduler wakes by the wall clock, which is slewed against the monotonic one."""
    clock = FakeClock()
    beat = Beat(PERIOD, 0.0, clock)
    clock.advance(14.99)
    assert next_in(beat, clock) == pytest.approx(15.01)


@pytest.mark.parametrize("step", [-3600, 3600])
def test_a_step_of_the_wall_clock_moves_no_tick(step: float) -> None:
    """The time to the next tick stays the same."""
    clock = FakeClock()
    beat = Beat(PERIOD, 0.0, clock)
    clock.advance(20)
    before = next_in(beat, clock)
    clock.step(step)
    assert next_in(beat, clock) == pytest.approx(before)
