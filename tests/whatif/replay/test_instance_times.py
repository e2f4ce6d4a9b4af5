"""How long instances take to end, and the sources of times."""

from collections.abc import Mapping
from datetime import timedelta

import pytest

from autoscaler.errors import TargetUnavailable
from autoscaler.model import Decision, Instance, Observation, Phase, TargetState
from autoscaler.whatif.past.past import Cycle
from autoscaler.whatif.replay.course import course_of
from autoscaler.whatif.replay.instance_times import NONE_SEEN, InstanceTime, Terminations, TimeSource
from autoscaler.whatif.replay.replay import Candidate, replay
from tests.decide.build import NOW
from tests.replaced import replace
from tests.whatif.courses import WEB, seconds
from tests.whatif.pasts import Life, compared

HERE, LEAVING, FAILED = "here", "leaving", "failed"


DECIDED = Life().cpu(60)


def cycle(after: float, decision: Decision | None = DECIDED, /, **instances: str) -> Cycle:
    """A cycle with these instances; without a decision it is inferred."""
    state = TargetState(len(instances), len(instances), tuple(_instances(instances)))
    return Cycle(NOW + seconds(after), Observation(state, ()), WEB, decision)


def _instances(instances: Mapping[str, str]) -> list[Instance]:
    return [
        Instance(name, Phase.FAILED if how == FAILED else Phase.RUNNING, ready=True, deleting=how != HERE)
        for name, how in instances.items()
    ]


def learnt(*cycles: Cycle) -> timedelta | None:
    found = Terminations()
    for each in cycles:
        found.add(each)
    used = found.used(None)
    return None if used == NONE_SEEN else used.seconds


def test_the_time_is_from_the_first_cycle_in_which_it_leaves_to_the_first_without_it() -> None:
    assert learnt(
        cycle(0, a=HERE, b=HERE), cycle(15, a=HERE, b=LEAVING), cycle(30, a=HERE, b=LEAVING), cycle(45, a=HERE)
    ) == seconds(30)


def test_the_time_of_several_is_their_median() -> None:
    """One instance that hangs does not count."""
    found = [
        cycle(0, a=HERE, b=HERE, c=HERE),
        cycle(15, a=LEAVING, b=LEAVING, c=LEAVING),
        cycle(30, b=LEAVING, c=LEAVING),
    ]
    found += [cycle(45, c=LEAVING), *[cycle(45 + 15 * number, c=LEAVING) for number in range(1, 40)], cycle(645)]
    assert learnt(*found) == seconds(30)


def test_an_instance_that_fails_while_it_leaves_has_ended() -> None:
    """Some back ends list it for hours."""
    found = learnt(cycle(0, a=HERE), cycle(15, a=LEAVING), cycle(30, a=FAILED), cycle(45, a=FAILED), cycle(60))
    assert found == seconds(15)


def test_nothing_is_learnt_without_both_the_begin_and_the_end() -> None:
    """It left before the first cycle, is still there in the last one, or came back."""
    assert learnt(cycle(0, a=LEAVING), cycle(15)) is None
    assert learnt(cycle(0, a=HERE), cycle(15, a=LEAVING)) is None
    assert learnt(cycle(0, a=HERE), cycle(15, a=LEAVING), cycle(30, a=HERE), cycle(45)) is None


@pytest.mark.parametrize(
    "unknown",
    [
        [],
        [Cycle(NOW + seconds(30), Observation(TargetUnavailable("no answer"), ()), WEB, DECIDED)],
        [cycle(30, None, a=LEAVING)],
        [cycle(-600, a=LEAVING)],
    ],
    ids=["gap", "outage", "inferred", "clock set back"],
)
def test_nothing_is_learnt_across_an_unknown_time(unknown: list[Cycle]) -> None:
    """When the instance left is unknown."""
    last = 75 if not unknown else 45
    assert learnt(cycle(0, a=HERE), cycle(15, a=LEAVING), *unknown, cycle(last, a=LEAVING), cycle(last + 15)) is None


@pytest.mark.parametrize(("start_up", "source"), [(None, TimeSource.CONFIGURATION), (9, TimeSource.GIVEN)])
def test_a_start_up_time_is_given_or_configured_until_an_instance_was_observed(
    start_up: float | None, source: TimeSource
) -> None:
    life = Life()
    life.cpu(60)
    candidate = Candidate("new", life.scaler, start_up=None if start_up is None else seconds(start_up))
    expected = life.scaler.options.start_up if start_up is None else seconds(start_up)
    found = list(replay(life.cycles, candidate))
    assert course_of(candidate, found).start_up == InstanceTime(expected, source)
    observed = replace(found[0].decision.shadow_memory, start_up=seconds(5), learnt=True)
    later = found[0]._replace(decision=replace(found[0].decision, shadow_memory=observed))
    assert course_of(candidate, [later]).start_up == InstanceTime(seconds(5), TimeSource.INSTANCES)


def test_a_comparison_uses_the_given_time_or_that_of_its_past() -> None:
    """For all columns. 0 is a given time, too."""
    life = Life(size=3)
    for number in range(6):
        seen = life.seen(60)
        assert isinstance(seen.target, TargetState)
        old = Instance("old", Phase.RUNNING, ready=True, deleting=number in (2, 3))
        others = seen.target.instances if number > 3 else (*seen.target.instances, old)
        life.see(replace(seen, target=replace(seen.target, instances=others)))
    assert compared(life.cycles).termination == InstanceTime(seconds(30), TimeSource.INSTANCES)
    given = compared(life.cycles, termination=timedelta(0))
    assert given.termination == InstanceTime(timedelta(0), TimeSource.GIVEN)
    assert compared(life.cycles[4:]).termination == NONE_SEEN
