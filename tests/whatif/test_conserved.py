"""A candidate under the load that there was: it is spread over the instances that there would have been."""

from collections.abc import Sequence
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
from autoscaler.whatif.compare.comparison import AS_IT_WAS, Candidate, Comparison, compare
from autoscaler.whatif.past.past import FindingKind, Moment
from autoscaler.whatif.replay.course import course_of
from autoscaler.whatif.replay.replay import NO_LIMITS, Load, replay
from tests.decide.build import NOW, QUEUE_15, metric, scaler, state, value
from tests.replaced import replace
from tests.whatif.pasts import Life, Listed

AT_ONCE = timedelta(0)
LOAD = metric(MetricType.PODS, TargetType.AVERAGE_VALUE, 600)
"""Not cpu: of that HPA does not count what an instance uses while it starts."""
LOADS = (120, 120, 300, 300, 480, 480, 240, 240, 120, 120, 120)
"""In percent of one instance."""


def lived() -> Life:
    """Without a window for scaling in, so that sizes go both ways."""
    down = replace(Behavior().scale_down, stabilization_window=AT_ONCE)
    life = Life(scaler=scaler(LOAD, maximum=10, behavior=Behavior(scale_down=down)))
    for load in LOADS:
        life.load(load)
    return life


def with_target(one: Autoscaler, percent: int) -> Autoscaler:
    return replace(one, metrics=(replace(LOAD, target=replace(LOAD.target, value=10 * percent)),))


def compared(moments: list[Moment], *candidates: Candidate) -> Comparison:
    return compare(Listed(moments), candidates, NOW, moments[-1].at)


def test_the_same_configuration_has_the_same_sizes() -> None:
    """Where instances are ready at once, as they were."""
    life = lived()
    found = compared(life.moments, Candidate("same", life.scaler, start_up=AT_ONCE))
    was, same = found.courses
    assert (was.label, same.label) == (AS_IT_WAS, "same")
    assert same.size == was.size
    assert [(each.at, each.after) for each in same.changes] == [(each.at, each.after) for each in was.changes]


def test_a_higher_target_takes_fewer_instances_for_the_same_load() -> None:
    life = lived()
    found = compared(life.moments, Candidate("90%", with_target(life.scaler, 90), start_up=AT_ONCE))
    was, fewer = found.courses
    assert max(was.size) == 8
    assert max(fewer.size) == 6
    again = [each.decision for each in replay(life.moments, with_target(life.scaler, 90), Load.CONSERVED, AT_ONCE)]
    whole = [(made.shadow or 0) * (made.metrics[0].current or 0) / 10 for made in again]
    assert whole == pytest.approx(LOADS, abs=6)


def test_what_was_decided_is_ready_after_the_start_up_time_alone() -> None:
    life = lived()
    slow = course_of("slow", None, replay(life.moments, life.scaler, Load.CONSERVED, timedelta(seconds=40)))
    assert slow.size[3] > slow.ready[3]


def test_a_dry_runs_past_is_the_targets_and_not_its_shadows() -> None:
    life = Life(scaler=replace(lived().scaler, dry_run=True))
    for _ in range(4):
        life.dry(120)
    found = compared(life.moments, Candidate("same", life.scaler, start_up=AT_ONCE))
    was, followed = found.courses
    assert list(was.size) == [2, 2, 2, 2]
    assert list(followed.size) == [2, 4, 4, 4]
    assert found.same == found.compared == 4


def test_a_pause_holds_a_candidate_as_well() -> None:
    """It was asked for, whatever the configuration."""
    life = lived()
    paused = Steering(Pause(Direction.BOTH, "ann", "", NOW, None))
    moments = [replace(each, history=replace(each.history, steering=paused)) for each in life.moments]
    found = compared(moments, Candidate("same", life.scaler, start_up=AT_ONCE))
    assert set(found.courses[1].size) == {2}


def test_a_past_without_decisions_is_compared_with_the_sizes_seen() -> None:
    """As it is read from a Prometheus."""
    life = lived()
    bare = [Moment(moment.at, moment.observation) for moment in life.moments]
    found = compared(bare, Candidate("same", life.scaler, start_up=AT_ONCE))
    was, same = found.courses
    assert list(was.size) == [moment.decision.current for moment in life.moments if moment.decision]
    assert same.size == was.size
    assert [each.after for each in was.changes] == [each.after for each in same.changes]
    assert {each.reason for each in was.changes} == {""}
    assert found.compared == 0


def test_candidates_do_not_know_of_each_other() -> None:
    life = lived()
    alone = compared(life.moments, Candidate("90%", with_target(life.scaler, 90)))
    beside = compared(life.moments, Candidate("same", life.scaler), Candidate("90%", with_target(life.scaler, 90)))
    assert beside.courses[2].size == alone.courses[1].size
    assert (beside.parts, beside.cycles) == (alone.parts, len(LOADS))


def test_a_queue_that_nobody_knows_is_told_once_with_its_cycles() -> None:
    """What the candidate comes to rests on a guess then, and must not read like the rest."""
    queue = replace(QUEUE_15, kind=MetricKind.BACKLOG)
    life = Life(scaler=scaler(queue, maximum=2))
    for length in (30, 45, 60, 75):  # it never falls
        life.see(Observation(state(2), (value(length * 1_000),)))
    found = compared(life.moments, Candidate("more", replace(life.scaler, max_replicas=9), start_up=AT_ONCE))
    (told,) = [each for each in found.findings if each.kind is FindingKind.UNKNOWN]
    assert told.message.startswith("in 3 cycles: the length of external metric queue with the shadow's 3")
    assert (told.begin, told.end) == (life.moments[1].at, life.moments[3].at)
    rated = replace(life.scaler, max_replicas=9, metrics=(replace(queue, service_rate=1_000),))
    known = compared(life.moments, Candidate("rated", rated, start_up=AT_ONCE))
    assert [each for each in known.findings if each.kind is FindingKind.UNKNOWN] == []


def sizes_within(limits: ConnectionLimits, loads: Sequence[int]) -> list[int]:
    life = lived()
    life.scaler = replace(life.scaler, dry_run=False)
    for load in loads:
        life.load(load)
    at_once = course_of("at once", None, replay(life.moments, life.scaler, Load.CONSERVED, AT_ONCE, limits))
    return list(at_once.size)[len(LOADS) :]


def test_a_removal_budget_cuts_what_a_candidate_takes_away() -> None:
    """By what it has taken itself: what the others took then is not known."""
    loads = (480, 480, 480, 60, 60, 60, 60)
    budget = ConnectionLimits(RemovalBudget(2, timedelta(seconds=30)))
    assert sizes_within(NO_LIMITS, loads) == [2, 6, 8, 8, 1, 1, 1]
    assert sizes_within(budget, loads) == [2, 6, 8, 8, 6, 6, 4]


def test_a_limit_of_the_total_cuts_what_a_candidate_grows_to() -> None:
    assert sizes_within(ConnectionLimits(max_total=5), (480, 480, 480, 480)) == [2, 5, 5, 5]
