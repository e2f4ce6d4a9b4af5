"""A candidate under the conserved load, which is spread over the instances that it would have had."""

from datetime import timedelta

import pytest

from autoscaler.model import (
    Autoscaler,
    Behavior,
    ConnectionLimits,
    Direction,
    ManualControls,
    Pause,
    RemovalBudget,
)
from autoscaler.whatif.past.past import Cycle
from autoscaler.whatif.replay.course import AS_IT_WAS, Course
from autoscaler.whatif.replay.replay import Candidate
from tests.decide.build import NOW, scaler
from tests.replaced import replace
from tests.whatif.courses import LOAD
from tests.whatif.pasts import Life, compared, replay

AT_ONCE = timedelta(0)
LOADS = (120, 120, 300, 300, 480, 480, 240, 240, 120, 120, 120)
"""In percent of one instance."""


def lived() -> Life:
    """Without a scale-down window, so that the size also falls."""
    down = replace(Behavior().scale_down, stabilization_window=AT_ONCE)
    life = Life(scaler=scaler(LOAD, maximum=10, behavior=Behavior(scale_down=down)))
    life.load(*LOADS)
    return life


def with_target(one: Autoscaler, percent: int) -> Autoscaler:
    return replace(one, metrics=(replace(LOAD, target=replace(LOAD.target, value=10 * percent)),))


def course_of(life: Life, candidate: Candidate, start_up: timedelta = AT_ONCE) -> Course:
    made = Course(candidate.label)
    for each in replay(life.cycles, candidate, start_up):
        made.add_replayed(each)
    return made


def test_the_same_configuration_has_the_same_sizes() -> None:
    """Instances are ready at once, as they were."""
    life = lived()
    found = compared(life.cycles, Candidate("same", life.autoscaler), start_up=AT_ONCE)
    was, same = found.candidates
    assert (was.label, same.label) == (AS_IT_WAS, "same")
    assert same.measures == was.measures
    assert found.series.sizes[1] == found.series.sizes[0]


def test_a_higher_target_needs_fewer_instances_for_the_same_load() -> None:
    life = lived()
    candidate = Candidate("90%", with_target(life.autoscaler, 90))
    assert max(cycle.decision.current or 0 for cycle in life.cycles if cycle.decision) == 8
    assert max(course_of(life, candidate).size) == 6
    made = [each.decision for each in replay(life.cycles, candidate, AT_ONCE)]
    total = [(each.current or 0) * (each.metrics[0].current or 0) / 10 for each in made]
    assert total == pytest.approx(LOADS, abs=6)


def test_an_instance_is_ready_after_the_start_up_time() -> None:
    life = lived()
    slow = course_of(life, Candidate("slow", life.autoscaler), timedelta(seconds=40))
    assert slow.size[3] > slow.ready[3]


def test_instances_that_are_older_than_the_record_are_ready() -> None:
    """However long a start-up takes: they had begun before."""
    life = lived()
    slow = course_of(life, Candidate("slow", life.autoscaler), timedelta(hours=1))
    assert slow.ready[0] == slow.size[0] == 2


def test_the_past_of_a_dry_run_is_that_of_the_target() -> None:
    life = Life(scaler=replace(lived().autoscaler, dry_run=True))
    life.cpu(120, 120, 120, 120)
    found = compared(life.cycles, Candidate("same", life.autoscaler), start_up=AT_ONCE)
    assert found.series.sizes == ((2, 2, 2, 2), (2, 4, 4, 4))
    assert found.same == found.compared == 4
    assert found.fit is None


def test_a_pause_holds_a_candidate() -> None:
    """It does not depend on the configuration."""
    life = lived()
    paused = ManualControls(Pause(Direction.BOTH, "ann", "", NOW, None))
    life.cycles = [replace(each, history=replace(each.history, manual=paused)) for each in life.cycles]
    assert set(course_of(life, Candidate("same", life.autoscaler)).size) == {2}


def test_a_past_without_decisions_is_compared_by_its_sizes() -> None:
    """A past from Prometheus has none."""
    life = lived()
    bare = [Cycle(cycle.at, cycle.observation, cycle.scaler) for cycle in life.cycles]
    found = compared(bare, Candidate("same", life.autoscaler), start_up=AT_ONCE)
    was, same = found.series.sizes
    assert list(was) == [cycle.decision.current for cycle in life.cycles if cycle.decision]
    assert same == was
    assert (found.compared, found.fit) == (0, None)


def test_a_candidate_does_not_depend_on_another_one() -> None:
    life = lived()
    same, other = Candidate("same", life.autoscaler), Candidate("90%", with_target(life.autoscaler, 90))
    alone = compared(life.cycles, other, start_up=AT_ONCE)
    beside = compared(life.cycles, same, other, start_up=AT_ONCE)
    assert beside.series.sizes[2] == alone.series.sizes[1]
    assert beside.part == alone.part
    assert beside.part.cycles == len(LOADS)


@pytest.mark.parametrize(
    ("limits", "sizes"),
    [
        (ConnectionLimits(), [2, 6, 8, 8, 1, 1, 1]),
        (ConnectionLimits(RemovalBudget(2, timedelta(seconds=30))), [2, 6, 8, 8, 6, 6, 4]),
        (ConnectionLimits(max_total=5), [2, 5, 5, 5, 1, 1, 1]),
    ],
    ids=["none", "removalBudget", "maxTotal"],
)
def test_the_limits_of_the_connection_apply_to_a_candidate(limits: ConnectionLimits, sizes: list[int]) -> None:
    """To its own use: that of its neighbours is unknown."""
    life = lived()
    life.load(480, 480, 480, 60, 60, 60, 60)
    assert list(course_of(life, Candidate("at once", life.autoscaler, limits)).size)[len(LOADS) :] == sizes
