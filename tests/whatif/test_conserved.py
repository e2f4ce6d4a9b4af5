"""A candidate under the conserved load, which is spread over the instances that it would have had."""

from datetime import timedelta

import pytest

from autoscaler.model import (
    Autoscaler,
    Behavior,
    ConnectionLimits,
    Direction,
    MetricKind,
    MetricType,
    Observation,
    Pause,
    RemovalBudget,
    Steering,
    TargetType,
)
from autoscaler.whatif.past.past import Cycle, FindingKind
from autoscaler.whatif.replay.course import AS_IT_WAS, course_of
from autoscaler.whatif.replay.replay import Candidate, replay
from tests.decide.build import NOW, QUEUE_15, metric, scaler, state, value
from tests.replaced import replace
from tests.whatif.pasts import Life, compared

AT_ONCE = timedelta(0)
LOAD = metric(MetricType.PODS, TargetType.AVERAGE_VALUE, 600)
"""Not cpu: the HPA ignores the cpu of starting instances."""
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


def test_the_same_configuration_has_the_same_sizes() -> None:
    """If instances are ready at once, as they were."""
    life = lived()
    found = compared(life.cycles, Candidate("same", life.scaler, start_up=AT_ONCE))
    was, same = found.courses
    assert (was.label, same.label) == (AS_IT_WAS, "same")
    assert same.size == was.size
    assert [(each.at, each.after) for each in same.changes] == [(each.at, each.after) for each in was.changes]


def test_a_higher_target_needs_fewer_instances_for_the_same_load() -> None:
    life = lived()
    found = compared(life.cycles, Candidate("90%", with_target(life.scaler, 90), start_up=AT_ONCE))
    was, fewer = found.courses
    assert max(was.size) == 8
    assert max(fewer.size) == 6
    candidate = Candidate("90%", with_target(life.scaler, 90), start_up=AT_ONCE)
    made = [each.decision for each in replay(life.cycles, candidate)]
    total = [(each.shadow or 0) * (each.metrics[0].current or 0) / 10 for each in made]
    assert total == pytest.approx(LOADS, abs=6)


def test_an_instance_is_ready_after_the_start_up_time() -> None:
    life = lived()
    candidate = Candidate("slow", life.scaler, start_up=timedelta(seconds=40))
    slow = course_of(candidate, replay(life.cycles, candidate))
    assert slow.size[3] > slow.ready[3]


def test_the_past_of_a_dry_run_is_that_of_the_target() -> None:
    life = Life(scaler=replace(lived().scaler, dry_run=True))
    life.dry(120, 120, 120, 120)
    found = compared(life.cycles, Candidate("same", life.scaler, start_up=AT_ONCE))
    was, followed = found.courses
    assert list(was.size) == [2, 2, 2, 2]
    assert list(followed.size) == [2, 4, 4, 4]
    assert found.same == found.compared == 4


def test_a_pause_holds_a_candidate() -> None:
    """It does not depend on the configuration."""
    life = lived()
    paused = Steering(Pause(Direction.BOTH, "ann", "", NOW, None))
    cycles = [replace(each, history=replace(each.history, steering=paused)) for each in life.cycles]
    found = compared(cycles, Candidate("same", life.scaler, start_up=AT_ONCE))
    assert set(found.courses[1].size) == {2}


def test_a_past_without_decisions_is_compared_by_its_sizes() -> None:
    """A past from Prometheus has none."""
    life = lived()
    bare = [Cycle(cycle.at, cycle.observation, cycle.scaler) for cycle in life.cycles]
    found = compared(bare, Candidate("same", life.scaler, start_up=AT_ONCE))
    was, same = found.courses
    assert list(was.size) == [cycle.decision.current for cycle in life.cycles if cycle.decision]
    assert same.size == was.size
    assert [each.after for each in was.changes] == [each.after for each in same.changes]
    assert {each.reason for each in was.changes} == {""}
    assert found.compared == 0


def test_a_candidate_does_not_depend_on_another_one() -> None:
    life = lived()
    alone = compared(life.cycles, Candidate("90%", with_target(life.scaler, 90)))
    beside = compared(life.cycles, Candidate("same", life.scaler), Candidate("90%", with_target(life.scaler, 90)))
    assert beside.courses[2].size == alone.courses[1].size
    assert (beside.parts, beside.cycles) == (alone.parts, len(LOADS))


def test_a_queue_of_unknown_length_is_one_finding_with_its_cycles() -> None:
    """The decisions of these cycles rest on a guess."""
    queue = replace(QUEUE_15, kind=MetricKind.BACKLOG)
    life = Life(scaler=scaler(queue, maximum=2))
    for length in (30, 45, 60, 75):  # it never falls
        life.see(Observation(state(2), (value(length * 1_000),)))
    found = compared(life.cycles, Candidate("more", replace(life.scaler, max_replicas=9), start_up=AT_ONCE))
    (told,) = [each for each in found.findings if each.kind is FindingKind.UNKNOWN]
    assert told.message.startswith("in 3 cycles: the length of external metric queue with the shadow's 3")
    assert (told.begin, told.end) == (life.cycles[1].at, life.cycles[3].at)
    rated = replace(life.scaler, max_replicas=9, metrics=(replace(queue, service_rate=1_000),))
    known = compared(life.cycles, Candidate("rated", rated, start_up=AT_ONCE))
    assert [each for each in known.findings if each.kind is FindingKind.UNKNOWN] == []


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
    candidate = Candidate("at once", life.scaler, start_up=AT_ONCE, limits=limits)
    assert list(course_of(candidate, replay(life.cycles, candidate)).size)[len(LOADS) :] == sizes
