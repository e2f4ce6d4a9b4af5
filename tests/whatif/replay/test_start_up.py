"""How long instances take to become ready."""

from dataclasses import replace as copied
from datetime import timedelta

import pytest

from autoscaler.errors import TargetUnavailable
from autoscaler.model import Instance, Observation, Phase, TargetState
from autoscaler.whatif.past.past import Cycle
from autoscaler.whatif.replay.start_up import MAX_START_UP, InstanceTime, StartUps, TimeSource
from tests.decide.build import NOW
from tests.whatif.courses import WEB, seconds
from tests.whatif.pasts import Life


def instance(name: str, started: float, took: float, *, ready: bool = True) -> Instance:
    """An instance that started `started` seconds after the first cycle."""
    began = NOW + seconds(started)
    return Instance(name, Phase.RUNNING, ready=ready, ready_transition=began + seconds(took), started_at=began)


def learnt(*instances: Instance, given: timedelta | None = None) -> InstanceTime:
    times = StartUps()
    times.add(Cycle(NOW, Observation(TargetUnavailable("no answer"), ()), WEB))
    times.add(Cycle(NOW + seconds(600), seen(*instances), WEB))
    return times.used(given)


def seen(*instances: Instance) -> Observation:
    return Observation(TargetState(len(instances), len(instances), instances), ())


def test_the_start_up_time_is_the_median_of_the_instances_times() -> None:
    found = learnt(instance("a", 10, 5), instance("b", 10, 7), instance("c", 20, 300))
    assert found == InstanceTime(seconds(7), TimeSource.INSTANCES)


def test_an_instance_that_is_ready_at_once_shows_it_too() -> None:
    """60 s would be held unready for nothing."""
    assert learnt(instance("a", 10, 0), instance("b", 10, 0)).seconds == timedelta(0)


def test_instances_that_started_in_the_record_come_first() -> None:
    """The daemon may have seen the readiness of older ones long after it began."""
    old = [instance(f"old-{number}", -3600, 500) for number in range(9)]
    assert learnt(*old, instance("new", 10, 5)).seconds == seconds(5)
    assert learnt(*old).seconds == seconds(500)


def test_the_start_up_time_begins_with_the_decision_that_asked_for_the_instance() -> None:
    """A back end may take longer to start an instance than the instance to become ready. One that is replaced later
    was not asked for.
    """
    life, times = Life(size=1), StartUps()
    life.cpu(120, 60)
    life.cycles[1] = copied(life.cycles[1], observation=seen(instance("asked", 12, 5), instance("replaced", 13, 90)))
    for each in life.cycles:
        times.add(each)
    assert life.cycles[0].decision is not None
    assert life.cycles[0].decision.written == 2
    assert [took.total_seconds() for took in times._times.values()] == [0, 17, 90]


@pytest.mark.parametrize(
    "other", [instance("a", 10, 5, ready=False), instance("a", 10, MAX_START_UP.total_seconds() + 1)]
)
def test_otherwise_it_is_given_or_a_minute(other: Instance) -> None:
    """What is not ready, or was unready in between, shows nothing."""
    assert learnt(other, given=seconds(9)) == InstanceTime(seconds(9), TimeSource.GIVEN)
    assert learnt(other) == InstanceTime(seconds(60), TimeSource.DEFAULT)
    assert learnt(instance("b", 10, 5), given=seconds(9)).seconds == seconds(5)
