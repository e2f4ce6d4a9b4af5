"""What a replay came to, in arrays."""

from datetime import timedelta

import pytest

from autoscaler.decide.shadow import without_shadow
from autoscaler.errors import TargetUnavailable
from autoscaler.model import Behavior
from autoscaler.whatif.replay.course import UNKNOWN, course_of
from autoscaler.whatif.replay.replay import Load, replay
from tests.decide.build import NOW
from tests.replaced import replace
from tests.whatif.pasts import Life


def test_there_is_one_place_for_each_cycle() -> None:
    life = Life()
    for percent in (60, 120, 66, 30):
        life.cpu(percent)
    course = course_of("as it was", None, replay(life.moments, None, Load.RECORDED))
    assert list(course.at) == [(NOW + timedelta(seconds=15 * cycle)).timestamp() for cycle in range(4)]
    assert list(course.size) == [2, 2, 4, 4]
    assert list(course.ready) == [2, 2, 4, 4]
    assert list(course.desired) == [2, 4, 4, 4]
    assert list(course.maximum) == [10] * 4
    assert course.scaler is life.scaler


def test_what_leaves_is_not_there_any_more_after_the_cycle_that_took_it_away() -> None:
    """Of a candidate's shadow as of the real one: else the same decisions would look like less supply in the one."""
    at_once = Behavior(scale_down=replace(Behavior().scale_down, stabilization_window=timedelta(0)))
    life = Life(scaler=replace(Life().scaler, behavior=at_once))
    for load in (120, 240, 240, 60, 60):
        life.load(load)
    own = course_of("as it was", None, replay(life.moments, None, Load.RECORDED))
    same = course_of("same", life.scaler, replay(life.moments, life.scaler, Load.CONSERVED, timedelta(seconds=1)))
    assert list(own.size) == list(same.size) == [2, 2, 4, 4, 1]
    assert list(own.ready) == list(same.ready) == [2, 2, 4, 1, 1]


def test_what_could_not_be_read_is_unknown_and_not_zero() -> None:
    life = Life()
    life.cpu(60)
    life.fail()
    life.unreadable(TargetUnavailable("throttled"))
    course = course_of("as it was", None, replay(life.moments, None, Load.RECORDED))
    assert list(course.size) == [2, 2, UNKNOWN]
    assert list(course.desired) == [2, UNKNOWN, UNKNOWN]
    assert list(course.ready) == [2, 2, UNKNOWN]


def test_changes_are_those_that_were_written() -> None:
    life = Life()
    life.cpu(60)
    life.cpu(120, TargetUnavailable("no answer"))
    life.cpu(120)
    course = course_of("as it was", None, replay(life.moments, None, Load.RECORDED))
    (change,) = course.changes
    assert (change.at, change.before, change.after) == (life.moments[2].at, 2, 4)
    assert change.reason == "SucceededRescale"
    assert change.message == "cpu resource utilization (percentage of request) above target"


def test_a_change_that_somebody_else_made_is_one_of_those_that_were_seen() -> None:
    """The size is another one, so a table that says none would contradict its chart."""
    life = Life()
    life.cpu(60)
    life.size = 5
    life.cpu(60)
    life.cpu(120)
    life.cpu(60)
    course = course_of("as it was", None, replay(life.moments, None, Load.RECORDED))
    assert [(each.before, each.after) for each in course.changes] == [(2, 5), (5, 10)]
    assert course.changes[0].message == "seen; why is not known"


@pytest.mark.parametrize("away", [timedelta(minutes=5), None], ids=["gap", "outage"])
def test_what_changed_while_nothing_was_known_is_no_change(away: timedelta | None) -> None:
    life = Life()
    life.cpu(60)
    if away is None:
        life.unreadable(TargetUnavailable("no answer"))
    else:
        life.now += away
    life.size = 5
    life.cpu(60)
    assert course_of("as it was", None, replay(life.moments, None, Load.RECORDED)).changes == []


def test_the_end_of_a_dry_run_is_no_change_of_size() -> None:
    """The shadow's size goes with it, and the target's is another one."""
    life = Life()
    live = life.scaler
    life.scaler = replace(live, dry_run=True)
    life.dry(60)
    life.dry(120)
    life.dry(60)
    life.scaler, life.history = live, without_shadow(life.history)
    life.cpu(60)
    course = course_of("as it was", None, replay(life.moments, None, Load.RECORDED))
    assert list(course.size) == [2, 2, 4, 2]
    assert [(each.before, each.after) for each in course.changes] == [(2, 4)]


def test_a_change_that_is_proposed_again_and_again_is_one() -> None:
    """Nothing is written, so each cycle says it anew."""
    life = Life(scaler=replace(Life().scaler, max_replicas=2))
    for percent in (60, 120, 120, 120, 60, 120):
        life.cpu(percent)
    course = course_of("new", None, replay(life.moments, replace(life.scaler, max_replicas=9), Load.RECORDED))
    assert [(each.at - NOW) / timedelta(seconds=15) for each in course.changes] == [1, 5]


def test_a_replay_without_a_cycle_is_an_empty_course() -> None:
    course = course_of("new", Life().scaler, [])
    assert course.scaler == Life().scaler
    assert len(course.at) == 0
