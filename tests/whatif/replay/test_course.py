"""The course of a replay, in arrays."""

from datetime import timedelta
from itertools import pairwise

import pytest

from autoscaler.decide.shadow import without_shadow
from autoscaler.errors import TargetUnavailable
from autoscaler.model import Behavior
from autoscaler.whatif.replay.course import MOST_EXPLAINABLE, UNKNOWN, Course, course_of
from autoscaler.whatif.replay.repetition import repeat
from autoscaler.whatif.replay.replay import Candidate, Load, replay
from tests.decide.build import NOW
from tests.replaced import replace
from tests.whatif.pasts import Life


def own(life: Life) -> Course:
    """The daemon's course."""
    return course_of(None, repeat(life.cycles))


def test_there_is_one_item_for_each_cycle() -> None:
    life = Life()
    life.cpu(60, 120, 66, 30)
    course = own(life)
    assert list(course.at) == [(NOW + timedelta(seconds=15 * cycle)).timestamp() for cycle in range(4)]
    assert list(course.size) == list(course.ready) == [2, 2, 4, 4]
    assert list(course.maximum) == [10] * 4
    assert course.scaler is life.scaler


def test_replicas_that_leave_are_not_ready_after_the_cycle_that_removed_them() -> None:
    """For the shadow of a candidate as for the daemon: otherwise the same decisions would have different supplies."""
    at_once = Behavior(scale_down=replace(Behavior().scale_down, stabilization_window=timedelta(0)))
    life = Life(scaler=replace(Life().scaler, behavior=at_once))
    life.load(120, 240, 240, 60, 60)
    candidate = Candidate("same", life.scaler, start_up=timedelta(seconds=1))
    for course in (own(life), course_of(candidate, replay(life.cycles, candidate))):
        assert list(course.size) == [2, 2, 4, 4, 1]
        assert list(course.ready) == [2, 2, 4, 1, 1]


def test_what_could_not_be_read_is_unknown_and_not_zero() -> None:
    life = Life()
    life.cpu(60)
    life.fail()
    life.unreadable(TargetUnavailable("throttled"))
    assert list(own(life).size) == list(own(life).ready) == [2, 2, UNKNOWN]


def test_changes_are_those_that_were_written() -> None:
    life = Life()
    life.cpu(60)
    life.cpu(120, outcome=TargetUnavailable("no answer"))
    life.cpu(120)
    (change,) = own(life).changes
    assert (change.at, change.before, change.after) == (life.cycles[2].at, 2, 4)
    assert change.reason == "SucceededRescale"
    assert change.message == "cpu resource utilization (percentage of request) above target"


def test_a_change_by_another_writer_is_a_change_that_was_seen() -> None:
    """The size differs, so a table without the change would contradict its chart."""
    life = Life()
    life.cpu(60)
    life.size = 5
    life.cpu(60, 120, 60)
    course = own(life)
    assert [(each.before, each.after) for each in course.changes] == [(2, 5), (5, 10)]
    assert course.changes[0].message == "seen; the reason is unknown"


@pytest.mark.parametrize("away", [timedelta(minutes=5), None], ids=["gap", "outage"])
def test_a_change_during_an_unknown_time_is_no_change(away: timedelta | None) -> None:
    life = Life()
    life.cpu(60)
    if away is None:
        life.unreadable(TargetUnavailable("no answer"))
    else:
        life.now += away
    life.size = 5
    life.cpu(60)
    assert own(life).changes == []


def test_the_end_of_a_dry_run_is_no_change_of_size() -> None:
    """The shadow's size ends, and the target has another one."""
    life = Life()
    live = life.scaler
    life.scaler = replace(live, dry_run=True)
    life.dry(60, 120, 60)
    life.scaler, life.history = live, without_shadow(life.history)
    life.cpu(60)
    assert list(own(life).size) == [2, 2, 4, 2]
    assert [(each.before, each.after) for each in own(life).changes] == [(2, 4)]


def test_a_change_that_successive_cycles_propose_is_one_change() -> None:
    """Nothing is written, so each cycle proposes it again."""
    life = Life(scaler=replace(Life().scaler, max_replicas=2))
    life.cpu(60, 120, 120, 120, 60, 120)
    candidate = Candidate("new", replace(life.scaler, max_replicas=9), Load.RECORDED)
    changes = course_of(candidate, replay(life.cycles, candidate)).changes
    assert [(each.at - NOW) / timedelta(seconds=15) for each in changes] == [1, 5]


def test_explainable_changes_are_spread_over_all_changes() -> None:
    """The first ones of a restless week would explain its Monday only."""
    life = Life()
    life.cpu(60)
    (cycle,) = repeat(life.cycles)
    course = Course("as it was")
    for number in range(5 * MOST_EXPLAINABLE):
        at = NOW + timedelta(seconds=15 * number)
        size = 2 + number % 2
        made = replace(cycle.decision, now=at, current=size)
        course.add(cycle._replace(decision=made, cycle=replace(cycle.cycle, at=at)))
    times = [each.cycle.at for each in course.explainable]
    assert len(course.changes) == 5 * MOST_EXPLAINABLE - 1
    assert MOST_EXPLAINABLE / 2 <= len(times) < MOST_EXPLAINABLE
    assert times[-1] - times[0] > timedelta(seconds=15) * 4.9 * MOST_EXPLAINABLE
    assert len({later - earlier for earlier, later in pairwise(times)}) == 1


def test_a_replay_without_a_cycle_has_an_empty_course() -> None:
    course = course_of(Candidate("new", Life().scaler), [])
    assert course.scaler == Life().scaler
    assert len(course.at) == 0
