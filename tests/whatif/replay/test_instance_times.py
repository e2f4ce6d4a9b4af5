"""How long instances take to be gone, learnt from those that the daemon saw leave; and what tells a time."""

from collections.abc import Mapping
from datetime import timedelta

import pytest

from autoscaler.errors import TargetUnavailable
from autoscaler.model import Autoscaler, Instance, Observation, Phase, TargetState
from autoscaler.whatif.compare.comparison import Candidate, compare
from autoscaler.whatif.past.past import Moment
from autoscaler.whatif.replay.course import StartUp
from autoscaler.whatif.replay.instance_times import (
    NONE_SEEN,
    InstanceTime,
    Terminations,
    TimeSource,
    start_up_used,
    termination_of,
)
from tests.decide.build import NOW
from tests.replaced import replace
from tests.whatif.courses import WEB, seconds
from tests.whatif.pasts import Life, Listed

HERE, LEAVING, FAILED = "here", "leaving", "failed"


def cycle(after: float, scaler: Autoscaler | None = WEB, /, **instances: str) -> Moment:
    """What the daemon saw so many seconds after the start: each instance, and how it is."""
    state = TargetState(len(instances), len(instances), tuple(_instances(instances)))
    return Moment(NOW + seconds(after), Observation(state, ()), scaler=scaler)


def _instances(instances: Mapping[str, str]) -> list[Instance]:
    return [
        Instance(name, Phase.FAILED if how == FAILED else Phase.RUNNING, ready=True, deleting=how != HERE)
        for name, how in instances.items()
    ]


def learnt(*moments: Moment) -> timedelta | None:
    found = Terminations()
    for each in moments:
        found.see(each)
    return found.learnt


def test_it_is_from_the_first_cycle_on_its_way_out_to_the_first_without_it() -> None:
    assert learnt(
        cycle(0, a=HERE, b=HERE), cycle(15, a=HERE, b=LEAVING), cycle(30, a=HERE, b=LEAVING), cycle(45, a=HERE)
    ) == seconds(30)


def test_of_several_it_is_the_median() -> None:
    """One worker that hangs is not how long they take."""
    found = [
        cycle(0, a=HERE, b=HERE, c=HERE),
        cycle(15, a=LEAVING, b=LEAVING, c=LEAVING),
        cycle(30, b=LEAVING, c=LEAVING),
    ]
    found += [cycle(45, c=LEAVING), *[cycle(45 + 15 * number, c=LEAVING) for number in range(1, 40)], cycle(645)]
    assert learnt(*found) == seconds(30)


def test_one_that_failed_on_its_way_out_has_ended() -> None:
    """Some back ends list it for hours."""
    found = learnt(cycle(0, a=HERE), cycle(15, a=LEAVING), cycle(30, a=FAILED), cycle(45, a=FAILED), cycle(60))
    assert found == seconds(15)


def test_nothing_is_learnt_of_one_whose_begin_or_end_nobody_saw() -> None:
    """It was on its way out before the time began; or still is at its end; or came back."""
    assert learnt(cycle(0, a=LEAVING), cycle(15)) is None
    assert learnt(cycle(0, a=HERE), cycle(15, a=LEAVING)) is None
    assert learnt(cycle(0, a=HERE), cycle(15, a=LEAVING), cycle(30, a=HERE), cycle(45)) is None


@pytest.mark.parametrize(
    "unknown",
    [
        [],
        [Moment(NOW + seconds(30), Observation(TargetUnavailable("no answer"), ()), scaler=WEB)],
        [cycle(30, None, a=LEAVING)],
        [cycle(-600, a=LEAVING)],
    ],
    ids=["gap", "outage", "inferred", "clock set back"],
)
def test_nothing_is_learnt_across_a_time_that_is_not_known(unknown: list[Moment]) -> None:
    """Nor of one that was on its way out already when it was known again."""
    last = 75 if not unknown else 45
    assert learnt(cycle(0, a=HERE), cycle(15, a=LEAVING), *unknown, cycle(last, a=LEAVING), cycle(last + 15)) is None


def test_what_is_given_counts_before_what_is_learnt() -> None:
    """0 is given, too."""
    seen = seconds(30)
    assert termination_of(timedelta(0), seen) == InstanceTime(timedelta(0), TimeSource.GIVEN)
    assert termination_of(None, seen) == InstanceTime(seen, TimeSource.INSTANCES)
    assert termination_of(None, None) == NONE_SEEN


def test_a_start_up_time_that_instances_have_shown_replaces_what_was_given() -> None:
    shown, given, configured = StartUp(seconds(5), True), StartUp(seconds(9), False), StartUp(seconds(60), False)
    assert start_up_used(shown, seconds(9)) == InstanceTime(seconds(5), TimeSource.INSTANCES)
    assert start_up_used(given, seconds(9)) == InstanceTime(seconds(9), TimeSource.GIVEN)
    assert start_up_used(configured, None) == InstanceTime(seconds(60), TimeSource.CONFIGURATION)
    assert start_up_used(None, seconds(9)) is None


def test_a_comparison_learns_it_from_its_past_unless_it_is_given() -> None:
    """All columns are held to the same."""
    life = Life(size=3)
    for number in range(6):
        seen = life.seen(60)
        assert isinstance(seen.target, TargetState)
        if number in (2, 3):
            leaving = Instance("old", Phase.RUNNING, ready=True, deleting=True)
        else:
            leaving = Instance("old", Phase.RUNNING, ready=True)
        others = seen.target.instances if number > 3 else (*seen.target.instances, leaving)
        life.see(replace(seen, target=replace(seen.target, instances=others)))
    candidates = [Candidate("same", life.scaler)]
    found = compare(Listed(life.moments), candidates, NOW, life.now)
    assert found.termination == InstanceTime(seconds(30), TimeSource.INSTANCES)
    assert found.start_ups["same"].source is TimeSource.CONFIGURATION
    given = compare(Listed(life.moments), candidates, NOW, life.now, termination=seconds(5))
    assert given.termination == InstanceTime(seconds(5), TimeSource.GIVEN)
