"""How far an inferred past agrees with a recorded one, and why other cycles differ."""

from collections.abc import Sequence
from datetime import timedelta

import pytest

from autoscaler.errors import MetricError, TargetUnavailable
from autoscaler.model import Observation, Override, Steering
from autoscaler.whatif.compare.agreement import Agreement, Why, agreement
from autoscaler.whatif.past.past import Cycle
from autoscaler.whatif.replay.replay import Candidate, Load, replay
from tests.decide.build import NOW, samples, state
from tests.replaced import replace
from tests.whatif.pasts import Life

SAME = Observation(state(2), (samples([600, 600], NOW),))
FEWER = Observation(state(1), (samples([600], NOW),))
BUSIER = Observation(state(2), (samples([1200, 1200], NOW),))


def lived(*percents: int) -> Life:
    life = Life()
    life.cpu(*percents)
    return life


def inferred(life: Life, *other: tuple[int, Observation]) -> list[Cycle]:
    """The same cycles without what only the state knows; some with another observation."""
    changed = dict(other)
    return [Cycle(each.at, changed.get(place, each.observation)) for place, each in enumerate(life.cycles)]


def compared(life: Life, cycles: Sequence[Cycle]) -> Agreement:
    return agreement(life.cycles, replay(cycles, Candidate("recorded", life.scaler, Load.RECORDED)))


def test_the_same_past_has_the_same_sizes() -> None:
    life = lived(60, 60, 120, 90, 60, 60)
    found = compared(life, inferred(life))
    assert (found.cycles, found.same, found.same_read, found.others) == (6, 6, 6, {})
    assert found.summary == "6 of 6 cycles have the size that the state has (100.0%)"


@pytest.mark.parametrize(("other", "why", "same_read"), [(FEWER, Why.SIZE, 2), (BUSIER, Why.READING, 3)])
def test_a_different_observation_is_counted_by_its_reason(other: Observation, why: Why, same_read: int) -> None:
    life = lived(60, 60, 60)
    found = compared(life, inferred(life, (1, other)))
    assert (found.same, found.same_read, found.others) == (2, same_read, {why: 1})
    assert found.summary.endswith(f"(66.7%); the others differ by {why} 1")


def test_a_reading_that_failed_in_the_daemon_differs() -> None:
    """A Prometheus that did not answer then knows the value later."""
    life = lived(60)
    life.fail()
    assert compared(life, inferred(life, (1, SAME))).others == {Why.READING: 1}


def test_a_target_that_could_not_be_read_has_no_size() -> None:
    life = lived(60)
    life.see(replace(SAME, target=TargetUnavailable("no answer")))
    assert compared(life, inferred(life, (1, SAME))).others == {Why.SIZE: 1}


def test_an_override_is_one_of_the_other_reasons() -> None:
    """Prometheus does not know of it."""
    life = lived(60)
    life.steer(Steering(override=Override(None, 3, "ada", "a sale", NOW, None)))
    life.cpu(120)
    assert compared(life, inferred(life)).others == {Why.OTHER: 1}


def test_a_cycle_that_was_not_inferred_is_not_covered() -> None:
    life = lived(60, 60, 60, 60)
    cycles = inferred(life)
    assert compared(life, [cycles[0], *cycles[2:]]).others == {Why.UNCOVERED: 1}
    assert compared(life, cycles[1:3]).cycles == 2  # those outside of the inferred time do not count


def test_a_cycle_is_compared_with_the_nearest_one() -> None:
    """Prometheus is queried at times of its own."""
    life = lived(60, 60, 60)
    assert compared(life, [replace(each, at=each.at + timedelta(seconds=5)) for each in inferred(life)]).same == 3


def test_a_cycle_that_failed_in_both_is_the_same() -> None:
    life = Life()
    life.fail()
    found = compared(life, inferred(life, (0, replace(SAME, readings=(MetricError("another"),)))))
    assert (found.same, found.cycles) == (1, 1)


def test_the_most_frequent_reason_comes_first() -> None:
    life = lived(60, 60, 60, 60)
    found = compared(life, inferred(life, (0, BUSIER), (1, FEWER), (2, FEWER)))
    assert found.summary.endswith("(25.0%); the others differ by size 2, reading 1")
