"""How far an inferred past agrees with a recorded one."""

from collections.abc import Sequence
from datetime import timedelta

from autoscaler.model import Failure, Observation
from autoscaler.whatif.compare.inferred_past import Agreement, agreement
from autoscaler.whatif.past.past import Cycle
from autoscaler.whatif.replay.replay import Candidate, Load, replay
from tests.decide.build import NOW, samples, state
from tests.replaced import replace
from tests.whatif.pasts import Life

FEWER = Observation(state(1), (samples([600], NOW),))
BUSIER = Observation(state(2), (samples([1200, 1200], NOW),))
FAILED = Observation(state(2), (Failure("another answer"),))


def lived(*percents: int) -> Life:
    life = Life()
    life.cpu(*percents)
    return life


def inferred(life: Life, *other: tuple[int, Observation]) -> list[Cycle]:
    """The same cycles without what only the state knows; some with another observation."""
    changed = dict(other)
    return [Cycle(each.at, changed.get(place, each.observation), each.scaler) for place, each in enumerate(life.cycles)]


def compared(life: Life, cycles: Sequence[Cycle]) -> Agreement:
    return agreement(life.cycles, replay(cycles, Candidate("recorded", life.scaler, Load.RECORDED)))


def test_the_same_past_has_the_same_sizes() -> None:
    life = lived(60, 60, 120, 90, 60, 60)
    assert compared(life, inferred(life)) == Agreement(cycles=6, same=6, same_read=6)


def test_a_different_decision_and_a_different_size_are_counted() -> None:
    life = lived(60, 60, 60)
    found = compared(life, inferred(life, (0, BUSIER), (1, FEWER)))
    assert found == Agreement(cycles=3, same=1, same_read=2)
    assert found.summary == (
        "1 of 3 cycles have the size that the state has (33.3%); in 2 the size that was read is the same"
    )


def test_a_cycle_that_was_not_inferred_differs() -> None:
    """Cycles before the first inferred one and after the last are not compared."""
    life = lived(60, 60, 60, 60)
    cycles = inferred(life)
    assert compared(life, [cycles[0], *cycles[2:]]) == Agreement(cycles=4, same=3, same_read=3)
    assert compared(life, cycles[1:3]).cycles == 2


def test_a_cycle_is_compared_with_the_nearest_one() -> None:
    """Prometheus is queried at times of its own."""
    life = lived(60, 60, 60)
    assert compared(life, [replace(each, at=each.at + timedelta(seconds=5)) for each in inferred(life)]).same == 3


def test_a_cycle_that_failed_in_both_is_the_same() -> None:
    life = Life()
    life.fail()
    assert compared(life, inferred(life, (0, FAILED))) == Agreement(cycles=1, same=1, same_read=1)
