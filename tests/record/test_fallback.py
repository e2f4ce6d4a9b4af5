"""The beginning of a metric's failure survives restarts and steps of the clock."""

from datetime import timedelta

import pytest

from autoscaler.model import (
    Decision,
    Failure,
    Memories,
    MetricType,
    Observation,
    Reading,
    Rules,
    TargetState,
    ValueReading,
    later,
)
from autoscaler.rules.fallback import FallbackMemory, Fallbacks, FallbackState, MetricFailure
from autoscaler.rules.fallback.keys import MetricFallback
from tests.record.conftest import Opener
from tests.record.cycles import QUEUE, Cycles
from tests.record.samples import START, scaler
from tests.replaced import replace

DOWN = Failure("down")


class Falling(Cycles):
    """A dry run at size 5 whose metric has a fallback."""

    def __init__(self, opener: Opener, fallback: MetricFallback) -> None:
        super().__init__(
            opener, replace(scaler(), metrics=(QUEUE,), rules=Rules([Fallbacks((fallback,))]), dry_run=True)
        )

    def reads(self, reading: Reading | Failure, *fallbacks: Reading) -> Decision:
        """Run a cycle with this reading of the metric, and these of the fallback's query."""
        return self.cycle(Observation(TargetState(5, 5, ()), (reading,), (), fallbacks))


def failing(memories: Memories) -> tuple[MetricFailure, ...]:
    memory = memories.find("fallback", FallbackMemory)
    return () if memory is None else memory.failing


def states(made: Decision) -> list[FallbackState]:
    return [each.fallback for each in failing(made.remembered.rules)]


@pytest.mark.parametrize("step", [0, 3600, -86400])
def test_the_time_survives_restarts_and_a_clock_that_is_set(sqlite_opener: Opener, step: float) -> None:
    """Daemons are restarted in an outage of Prometheus, and the three minutes must not begin anew each time."""
    falling = Falling(sqlite_opener, MetricFallback(replicas=9))
    assert states(falling.reads(DOWN)) == [FallbackState.WAITING]
    for by in (0, step):
        falling.restart(by)
        assert states(falling.reads(DOWN)) == [FallbackState.WAITING]
    made = falling.reads(DOWN)
    assert states(made) == [FallbackState.ACTIVE]
    assert made.now - failing(made.remembered.rules)[0].since == timedelta(seconds=180)


def test_a_value_ends_the_failure(opener: Opener) -> None:
    falling = Falling(opener, MetricFallback(replicas=9))
    falling.reads(DOWN)
    falling.reads(ValueReading((1000,)))
    falling.restart()
    assert failing(falling.recall().rules) == ()


def test_a_failure_shifts_with_the_clock() -> None:
    failure = MetricFailure(MetricType.PODS, "load", 0, START, FallbackState.ACTIVE)
    assert later(failure, timedelta(hours=1)) == replace(failure, since=START + timedelta(hours=1))
