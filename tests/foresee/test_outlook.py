"""What comes next if the metrics stay as they are."""

from datetime import timedelta

from autoscaler.foresee.outlook import forecast, lookback
from autoscaler.model import Observation
from tests.decide.build import NOW, value
from tests.decide.outage import DOWN, Outage, covered, with_fallback

SCALER = covered(with_fallback(seconds=600))
"""Its fallback takes effect after 600 s without a value, which is longer than its stabilization window."""


def test_a_forecast_is_the_change_of_the_cycles_that_follow() -> None:
    """Each cycle of a forecast remembers the one before: here, since when the metric has had no value."""
    life = Outage(SCALER)
    life.cycle(value(45_000), after=0)
    down = Observation(life.observed.target, (DOWN,))
    move = forecast(SCALER, down, life.history, life.now, timedelta(hours=1)).move
    assert move is not None
    while (made := life.cycle(DOWN, after=SCALER.sync_period.total_seconds())).change is None:
        assert life.now < NOW + timedelta(hours=1)
    assert (move.at, move.size) == (made.now, made.change.size)
    assert made.now == NOW + timedelta(seconds=615)


def test_a_decision_depends_on_as_much_time_as_rules_wait_for() -> None:
    """`test --init` begins so long before the decision, and a forecast looks as far ahead."""
    assert lookback(SCALER) == timedelta(seconds=600)
