"""How far an inferred past agrees with a recorded one: each cycle that differs has its reason."""

from collections.abc import Callable, Sequence
from datetime import timedelta

from autoscaler.errors import MetricError, TargetUnavailable
from autoscaler.model import (
    Observation,
    Override,
    Steering,
)
from autoscaler.whatif.compare.agreement import Agreement, Why, agreement
from autoscaler.whatif.past.past import Moment
from autoscaler.whatif.replay.replay import Load, replay
from tests.decide.build import NOW, samples, state
from tests.replaced import replace
from tests.whatif.pasts import Life

PERCENTS = (60, 60, 120, 90, 60, 60)


def lived(*percents: int) -> Life:
    life = Life()
    for percent in percents:
        life.cpu(percent)
    return life


def inferred(life: Life, change: Callable[[int, Observation], Observation] = lambda _, seen: seen) -> list[Moment]:
    """The same moments without what only the state knows."""
    return [Moment(each.at, change(number, each.observation)) for number, each in enumerate(life.moments)]


def compared(life: Life, moments: Sequence[Moment]) -> Agreement:
    return agreement(life.moments, replay(moments, life.scaler, Load.RECORDED))


def test_the_same_past_gives_the_same_sizes() -> None:
    life = lived(*PERCENTS)
    found = compared(life, inferred(life))
    assert (found.cycles, found.same, found.same_read) == (6, 6, 6)
    assert found.summary == "6 of 6 cycles have the size that the state has (100.0%)"


def test_another_size_is_told_with_both() -> None:
    life = lived(60, 60, 60)

    def fewer(number: int, seen: Observation) -> Observation:
        return Observation(state(1), (samples([600], NOW),)) if number == 1 else seen

    found = compared(life, inferred(life, fewer))
    (difference,) = found.differences
    assert (difference.why, difference.recorded, difference.inferred, found.same_read) == (Why.SIZE, 2, 1, 2)
    assert difference.message == "the size was 2, and is told to be 1"


def test_another_reading_is_told_with_both_values() -> None:
    life = lived(60, 60, 60)

    def more(number: int, seen: Observation) -> Observation:
        return replace(seen, readings=(samples([1200, 1200], NOW),)) if number == 1 else seen

    (difference,) = compared(life, inferred(life, more)).differences
    assert difference.why is Why.READING
    assert difference.message == "metric 'cpu' asked for 2, and here for 4: it was 60%, and is 120% here"


def test_a_reading_that_had_no_value_then_is_told_with_its_error() -> None:
    """A Prometheus that was away answers for that time later."""
    life = lived(60)
    life.fail()
    seen = inferred(life, lambda _, seen: replace(seen, readings=(samples([600, 600], NOW),)))
    (difference,) = compared(life, seen).differences
    assert (difference.why, difference.recorded) == (Why.READING, None)
    assert difference.message.endswith("then it had no value: no answer")


def test_what_prometheus_does_not_tell_is_a_reason() -> None:
    """As an operator's bounds."""
    life = lived(60)
    life.steer(Steering(override=Override(None, 3, "ada", "a sale", NOW, None)))
    life.cpu(120)
    (difference,) = compared(life, inferred(life)).differences
    assert difference.why is Why.OTHER


def test_a_target_that_could_not_be_read_had_no_size() -> None:
    life = lived(60)
    life.see(Observation(TargetUnavailable("no answer"), (samples([600, 600], NOW),)))
    seen = inferred(life, lambda _, seen: replace(seen, target=state(2)))
    (difference,) = compared(life, seen).differences
    assert (difference.why, difference.message) == (Why.SIZE, "the size was not known, and is told to be 2")


def test_a_cycle_without_a_step_is_told() -> None:
    life = lived(60, 60, 60, 60)
    seen = inferred(life)
    found = compared(life, [seen[0], *seen[2:]])
    assert [(each.why, each.begin) for each in found.differences] == [(Why.UNCOVERED, life.moments[1].at)]


def test_cycles_outside_of_what_was_inferred_do_not_count() -> None:
    life = lived(60, 60, 60, 60)
    assert compared(life, inferred(life)[1:3]).cycles == 2


def test_a_cycle_is_held_against_the_nearest_step() -> None:
    """Steps lie on a grid of their own."""
    life = lived(60, 60, 60)
    moved = [replace(each, at=each.at + timedelta(seconds=5)) for each in inferred(life)]
    assert compared(life, moved).same == 3


def test_a_failed_cycle_in_both_is_the_same() -> None:
    life = Life()
    life.fail()
    found = compared(life, inferred(life, lambda _, seen: replace(seen, readings=(MetricError("another"),))))
    assert (found.same, found.cycles) == (1, 1)


def test_differences_in_a_row_are_told_once() -> None:
    life = lived(60, 60, 60)
    found = compared(life, inferred(life, lambda _, seen: Observation(state(1), (samples([600], NOW),))))
    (difference,) = found.differences
    assert difference.cycles == 3
    assert "3 cycles: 1 instead of 2 (size)" in str(difference)
