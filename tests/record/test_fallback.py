"""Since when a metric has had no value is remembered as everything else is: by its age."""

from datetime import timedelta

import pytest

from autoscaler.decide import decide
from autoscaler.errors import MetricError
from autoscaler.model import (
    Autoscaler,
    Decision,
    Fallback,
    FallbackState,
    MetricFailure,
    MetricSpec,
    MetricTarget,
    MetricType,
    Observation,
    Observed,
    Query,
    Reading,
    TargetState,
    TargetType,
    ValueReading,
    later,
)
from autoscaler.record import Ledger
from tests.record.conftest import Opener
from tests.record.samples import FLEET, START, scaler
from tests.replaced import replace
from tests.schedule.clock import FakeClock


def one(fallback: Fallback = Fallback(replicas=9)) -> Autoscaler:  # noqa: B008 - it is frozen
    """With a metric that has a fallback."""
    target = MetricTarget(TargetType.AVERAGE_VALUE, 1000)
    return replace(scaler(), metrics=(MetricSpec(MetricType.EXTERNAL, "queue", target, Query("q"), fallback=fallback),))


def cycle(
    ledger: Ledger, clock: FakeClock, reading: Reading | MetricError, web: Autoscaler, *fallbacks: Reading
) -> Decision:
    """A whole one of a dry run, 60 s later."""
    clock.advance(60)
    ledger.follow_clock(clock.moment())
    seen = Observation(TargetState(5, 5, ()), (reading,), (), fallbacks)
    made = decide(web, seen, ledger.recall([web])[web.name], clock.now())
    assert ledger.record({web.name: web}, Observed({web.name: seen}), [made]) == {}
    return made


def states(made: Decision) -> list[FallbackState]:
    return [each.fallback for each in made.failing]


DOWN = MetricError("down")


@pytest.mark.parametrize("step", [0, 3600, -86400])
def test_the_time_survives_restarts_and_a_clock_that_is_set(sqlite_opener: Opener, step: float) -> None:
    """An outage of Prometheus is when daemons are restarted, and after each the three minutes would begin anew."""
    clock = FakeClock(START)
    web = one()
    ledger = sqlite_opener.state(clock=clock).ledger(FLEET)
    assert states(cycle(ledger, clock, DOWN, web)) == [FallbackState.WAITING]
    sqlite_opener.close()
    ledger = sqlite_opener.state(clock=clock).ledger(FLEET)
    assert states(cycle(ledger, clock, DOWN, web)) == [FallbackState.WAITING]
    clock.step(step)
    sqlite_opener.close()
    ledger = sqlite_opener.state(clock=clock).ledger(FLEET)
    assert states(cycle(ledger, clock, DOWN, web)) == [FallbackState.WAITING]
    made = cycle(ledger, clock, DOWN, web)
    assert states(made) == [FallbackState.ACTIVE]
    assert made.now - made.failing[0].since == timedelta(seconds=180)


def test_what_a_decision_on_a_fallback_was_made_from_is_kept(opener: Opener) -> None:
    """`explain` decides it again: with the answer of the fallback's query, and the time of the failure."""
    clock = FakeClock(START)
    web = one(Fallback(timedelta(seconds=60), query=Query("crude"), allow_scale_in=True))
    ledger = opener.ledger()
    for load in (1000, 2000, 3000):
        made = cycle(ledger, clock, DOWN, web, ValueReading((load,)))
    records = list(opener.archive().records(web.name))
    assert [each.decision.failing[0].fallback for each in records] == ["waiting", "active", "active"]
    assert records[-1].decision == made
    for each in records:
        assert each.observation is not None
        assert each.history is not None
        assert decide(each.scaler, each.observation, each.history, each.decision.now) == each.decision


def test_a_value_is_remembered_as_the_end_of_the_failure(opener: Opener) -> None:
    clock = FakeClock(START)
    ledger = opener.ledger()
    cycle(ledger, clock, DOWN, one())
    cycle(ledger, clock, ValueReading((1000,)), one())
    assert opener.restart().recall([one()])["web"].failing == ()


def test_a_failure_moves_with_the_clock() -> None:
    since = START
    failure = MetricFailure(MetricType.PODS, "load", 0, since, FallbackState.ACTIVE)
    assert later(failure, timedelta(hours=1)) == replace(failure, since=since + timedelta(hours=1))
