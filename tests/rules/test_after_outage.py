"""The brake afterOutage: windows forget the load in an outage of all metrics, so nothing scales in for a window."""

from datetime import timedelta
from typing import Final

import pytest

from autoscaler.errors import TargetUnavailable
from autoscaler.model import (
    Behavior,
    ConditionType,
    Decision,
    Direction,
    EventType,
    Failure,
    MetricSpec,
    Reading,
    Rules,
    later,
)
from autoscaler.rules.brakes import ENDED, Brakes
from autoscaler.rules.brakes.common import Brake
from autoscaler.rules.fallback import Fallbacks
from autoscaler.rules.fallback.keys import MetricFallback
from autoscaler.rules.idle import Idle
from tests.decide.build import QUEUE_15, Life, scaler, value
from tests.decide.outage import CALM, DOWN, condition, event_reasons
from tests.replaced import replace
from tests.rules.braking import active, brake_memory, holding

ON: Final = [Brake.AFTER_OUTAGE]
REASON: Final = "MetricsReturned"
WINDOW: Final = timedelta(minutes=5)
BRAKES: Final = Brakes(after_outage=True)
OTHER: Final = replace(QUEUE_15, name="other")


class Blind(Life):
    """Runs cycles of 60 s. It has 10 instances, all of which the load needed in the first cycle."""

    def __init__(self, *metrics: MetricSpec, rules: Rules | None = None, window: timedelta = WINDOW) -> None:
        behavior = Behavior(scale_down=replace(CALM.scale_down, stabilization_window=window))
        autoscaler = scaler(*metrics or (QUEUE_15,), behavior=behavior)
        super().__init__(replace(autoscaler, rules=Rules([BRAKES]) if rules is None else rules), 10)
        self.cycle(*[value(150_000) for _ in self.autoscaler.metrics])

    def cycle(self, *readings: Reading | Failure | int, after: float = 60, **given: object) -> Decision:
        """Run a cycle. A number is what the queue asks for."""
        read = [value(15_000 * each) if isinstance(each, int) else each for each in readings]
        return self.step(*read, after=after, **given)  # type: ignore[arg-type]  # by name

    def fails(self, minutes: int) -> Decision:
        """Run cycles in which all metrics fail, until the first one is `minutes` ago."""
        for _ in range(minutes + 1):
            made = self.cycle(*[DOWN for _ in self.autoscaler.metrics])
        return made


def test_without_it_the_first_value_after_an_outage_may_remove_all_instances() -> None:
    """A window remembers recommendations, and an outage has none."""
    life = Blind(rules=Rules())
    life.fails(5)
    assert life.cycle(1).written == 1


def test_the_brake_is_on_once_no_metric_has_had_a_value_for_a_window() -> None:
    life = Blind()
    made = life.fails(3)
    assert (active(made), REASON in event_reasons(made)) == ([], False)
    made = life.cycle(DOWN)
    assert (active(made), made.change) == (ON, None)
    (event,) = [each for each in made.events if each.reason == REASON]
    assert event.type is EventType.WARNING
    assert event.message == (
        "no metric had a value after 2026-01-01T12:01:00+00:00; the size does not fall until a scale-down window after "
        "a metric has a value again"
    )
    assert REASON not in event_reasons(life.cycle(DOWN))


def test_the_brake_holds_scale_ins_until_there_were_values_for_a_window() -> None:
    """Then the window remembers the load again."""
    life = Blind()
    life.fails(5)
    made = life.cycle(1)
    assert (made.desired, made.change, holding(made)) == (1, None, [REASON])
    able = condition(made, ConditionType.ABLE_TO_SCALE)
    assert (able.status, able.reason) == (False, REASON)
    assert able.message == (
        "no metric had a value after 2026-01-01T12:01:00+00:00; the size does not fall until 2026-01-01T12:13:00+00:00"
    )
    for _ in range(4):
        made = life.cycle(1)
        assert (made.change, event_reasons(made)) == (None, [])
    made = life.cycle(1)
    assert made.now.isoformat() == "2026-01-01T12:13:00+00:00"
    assert (made.written, active(made), event_reasons(made)) == (1, [], [ENDED, "SuccessfulRescale"])
    assert (made.events[0].type, made.events[0].message) == (
        EventType.NORMAL,
        "the brake afterOutage has ended: the size may fall again",
    )


def test_a_high_load_that_returns_in_the_meantime_is_remembered_by_the_window() -> None:
    """The brake hands over to the window without a gap."""
    life = Blind()
    life.fails(5)
    for _ in range(5):
        life.cycle(10)
    made = life.cycle(1)
    assert (active(made), made.desired) == ([], 10)


def test_the_brake_is_on_where_the_window_has_forgotten_the_load_by_the_first_value() -> None:
    """The failures span less than the window, and the values around them are the window apart."""
    life = Blind()
    assert active(life.fails(3)) == []
    made = life.cycle(1)
    assert (made.desired, made.change, active(made), REASON in event_reasons(made)) == (1, None, ON, True)


@pytest.mark.parametrize("minutes", [0, 1, 2])
def test_an_outage_shorter_than_the_window_does_nothing(minutes: int) -> None:
    """The window still remembers what was asked for before it."""
    life = Blind()
    life.fails(minutes)
    made = life.cycle(1)
    memory = brake_memory(made)
    assert memory is not None
    assert (active(made), memory.outage, event_reasons(made)) == ([], None, [])


def test_a_value_between_two_outages_separates_them() -> None:
    life = Blind()
    life.fails(3)
    life.cycle(10, after=45)
    assert active(life.fails(3)) == []
    assert active(life.cycle(DOWN)) == ON


def test_one_metric_that_has_a_value_is_no_outage() -> None:
    """Where one metric fails, HPA itself does not scale in."""
    life = Blind(QUEUE_15, OTHER)
    for _ in range(10):
        assert active(life.cycle(10, DOWN)) == []
    life.fails(5)
    assert active(life.cycle(1, DOWN)) == ON
    for _ in range(5):
        made = life.cycle(1, DOWN)
    assert active(made) == []


def test_a_failure_in_the_meantime_restarts_the_hold() -> None:
    """The window is to be full of values. It is one outage, and one event."""
    life = Blind()
    life.fails(5)
    life.cycle(1)
    life.cycle(1, after=200)
    made = life.cycle(DOWN)
    assert (active(made), REASON in event_reasons(made)) == (ON, False)
    for _ in range(5):
        assert life.cycle(1).change is None
    assert life.cycle(1).written == 1


def test_the_brake_never_holds_a_scale_out() -> None:
    life = Blind()
    life.fails(5)
    made = life.cycle(15)
    assert (made.written, active(made)) == (15, ON)
    assert life.cycle(20).written == 20


@pytest.mark.parametrize(("minimum", "maximum", "size"), [(1, 4, 4), (20, 100, 20)])
def test_the_brake_does_not_hold_a_return_into_the_bounds(minimum: int, maximum: int, size: int) -> None:
    """Operators set the bounds. That holds during the outage, too."""
    for _ in range(2):
        life = Blind()
        made = life.fails(5)
        life.edit(min_replicas=minimum, max_replicas=maximum)
        for reading in (DOWN, 1):
            life.size = 10
            made = life.cycle(reading)
            assert (made.written, active(made)) == (size, ON)


def test_the_brake_holds_idleness() -> None:
    """Nothing is active as far as the first value shows."""
    life = Blind(rules=Rules([BRAKES, Idle(timedelta(seconds=60), (0,))]))
    life.fails(5)
    life.cycle(0)
    made = life.cycle(0)
    assert (made.desired, made.change, holding(made)) == (0, None, [REASON])
    for _ in range(4):
        made = life.cycle(0)
    assert made.written == 0


def test_a_fallback_is_no_value() -> None:
    """The metrics have failed, whatever stands in for them."""
    fallbacks = Fallbacks((MetricFallback(timedelta(seconds=60), replicas=10),))
    life = Blind(rules=Rules([BRAKES, fallbacks]))
    made = life.fails(5)
    assert made.metrics[0].on_fallback
    assert active(made) == ON


def test_while_the_target_cannot_be_read_the_outage_goes_on() -> None:
    """Such a cycle shows no metric. Often a network's failure hides both."""
    life = Blind()
    life.fails(1)
    for _ in range(3):
        assert active(life.cycle(DOWN, target=TargetUnavailable("timeout"))) == []
    assert active(life.cycle(DOWN)) == ON
    assert active(life.cycle(DOWN, target=TargetUnavailable("timeout"))) == ON


def test_without_a_window_there_is_nothing_to_forget() -> None:
    """Otherwise each failed query would be an event."""
    life = Blind(window=timedelta(0))
    assert active(life.fails(9)) == []
    assert life.cycle(1).written == 1


def test_the_memory_of_the_brake_moves_with_the_clock() -> None:
    life = Blind()
    life.fails(5)
    hour = timedelta(hours=1)
    life.history, life.now = later(life.history, hour), life.now + hour
    for _ in range(5):
        made = life.cycle(1)
        memory = brake_memory(made)
        assert memory is not None
        assert [each.direction for each in memory.active] == [Direction.IN]
    assert life.cycle(1).written == 1


def test_the_brake_ends_when_it_leaves_the_configuration() -> None:
    life = Blind()
    life.fails(5)
    life.edit(rules=Rules([Brakes()]))
    made = life.cycle(1)
    assert (made.written, event_reasons(made)[0], active(made)) == (1, ENDED, [])


def test_after_a_stop_of_the_daemon_one_failure_suffices() -> None:
    """Nothing was remembered while it stood still, so the window is as empty as after an outage."""
    life = Blind()
    assert active(life.cycle(DOWN, after=3600)) == ON
    assert life.cycle(1).change is None
