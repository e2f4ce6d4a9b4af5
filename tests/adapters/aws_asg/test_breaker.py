"""The circuit breaker holds scale-out of a group whose launches keep failing."""

from collections.abc import Sequence
from datetime import timedelta
from types import SimpleNamespace
from typing import TYPE_CHECKING, cast

import pytest

from adapters.aws_asg.breaker import Breaker
from adapters.aws_asg.settings import CircuitBreaker
from autoscaler.model import Call, Held, Hold, Written
from tests.adapters.aws_asg.conftest import Cloud, Connect, LiveAdapter
from tests.clocks import MovedClock
from tests.servers.aws.group import Activity

if TYPE_CHECKING:
    from adapters.aws.api import AwsApi

pytestmark = pytest.mark.slow
_WHY = "We currently do not have sufficient m5.large capacity in the Availability Zone you requested."


def _failing(cloud: Cloud, name: str) -> None:
    """Return a group of one instance that wants two and cannot launch the second."""
    cloud.create(name, 1)
    cloud.world.advance(10)
    cloud.world.launch_failure = _WHY
    cloud.set(name, 2)


def test_launches_that_keep_failing_hold_scale_out_and_say_why(cloud: Cloud, connection: LiveAdapter) -> None:
    """Otherwise the desired capacity would rise to its maximum, and all instances start once the cause ends."""
    cloud.create("other", 1)
    _failing(cloud, "failing")
    assert connection.state("failing").hold == Hold()
    cloud.world.advance(30)
    hold = connection.state("failing").hold
    assert hold.scale_in is None
    assert hold.scale_out is not None
    assert hold.scale_out.reason == "LaunchesFailing"
    assert _WHY in hold.scale_out.message
    assert connection.state("other").hold == Hold()


def test_scale_in_passes_while_launches_fail(cloud: Cloud, connection: LiveAdapter) -> None:
    """A scale-in needs no launch."""
    _failing(cloud, "less")
    cloud.world.advance(30)
    state = connection.state("less")
    assert connection.scale("less", state, 1) == Written(1)
    assert connection.state("less").hold == Hold()


def test_the_breaker_allows_one_try_after_retry_after(cloud: Cloud, connect: Connect) -> None:
    """After retryAfter, one step is attempted; when it fails too, the wait starts again."""
    connection = connect(endpointUrl=cloud.server.url, circuitBreaker={"failures": 2, "retryAfter": "1m"})
    _failing(cloud, "again")
    connection.state("again")
    cloud.world.advance(20)
    assert connection.state("again").hold.scale_out is not None
    cloud.world.advance(60)
    state = connection.state("again")
    assert state.hold == Hold()
    assert connection.scale("again", state, 3) == Written(3)
    after = connection.state("again")
    assert after.hold.scale_out is not None
    assert isinstance(connection.scale("again", after, 4), Held)
    assert cloud.desired("again") == 3


@pytest.mark.parametrize("step", [86_400, -86_400])
def test_a_clock_that_is_set_neither_ends_the_wait_nor_prolongs_it(cloud: Cloud, connect: Connect, step: int) -> None:
    """A clock set back a day must not hold growth for a day; one set forward must not repeat a scale-out."""
    connection = connect(endpointUrl=cloud.server.url, circuitBreaker={"failures": 2, "retryAfter": "1m"})
    cloud.create("set", 1)
    cloud.world.advance(10)
    cloud.world.launch_failure = "no capacity"
    cloud.set("set", 2)
    connection.state("set")
    cloud.world.advance(20)
    assert connection.state("set").hold.scale_out is not None
    connection.set_clock(step)
    assert connection.state("set").hold.scale_out is not None
    cloud.world.advance(60)
    assert connection.state("set").hold == Hold()


def test_one_success_closes_the_circuit(cloud: Cloud, connection: LiveAdapter) -> None:
    """AWS retries the missing launches; one success allows scale-out again."""
    _failing(cloud, "well")
    cloud.world.advance(30)
    assert connection.state("well").hold.scale_out is not None
    cloud.world.launch_failure = None
    cloud.world.advance(10)
    cloud.describe("well")
    assert connection.state("well").hold == Hold()


def test_a_failed_launch_now_and_then_holds_nothing(cloud: Cloud, connection: LiveAdapter) -> None:
    """Two failures of three launches do not open the circuit."""
    _failing(cloud, "rare")
    cloud.world.advance(10)
    connection.state("rare")
    assert connection.state("rare").hold == Hold()


def test_failures_before_the_group_was_whole_are_forgotten(cloud: Cloud, connection: LiveAdapter) -> None:
    """An earlier outage has no effect later."""
    _failing(cloud, "past")
    cloud.world.advance(30)
    assert connection.state("past").hold.scale_out is not None
    cloud.world.launch_failure = None
    cloud.world.advance(10)
    connection.state("past")
    connection.state("past")
    cloud.world.advance(60)
    cloud.world.launch_failure = _WHY
    cloud.set("past", 3)
    assert connection.state("past").hold == Hold()


def test_launches_into_a_warm_pool_that_fail_hold_nothing(cloud: Cloud, connection: LiveAdapter) -> None:
    """The group starts its instance slowly, and its pool is only a reserve."""
    cloud.create("reserve", 1, most=5)
    cloud.world.advance(10)
    cloud.world.launch_seconds = 600
    cloud.set("reserve", 2)
    cloud.world.launch_failure = _WHY
    cloud.autoscaling.put_warm_pool(AutoScalingGroupName="reserve", MinSize=3)
    cloud.world.advance(30)
    cloud.describe("reserve")
    activities = cloud.autoscaling.describe_scaling_activities(AutoScalingGroupName="reserve")["Activities"]
    failed = [one["Description"] for one in activities if one["StatusCode"] == "Failed"]
    assert len([each for each in failed if each.startswith("Launching a new EC2 instance into warm pool")]) >= 3
    assert connection.state("reserve").hold == Hold()


def test_a_launch_into_a_warm_pool_is_no_success_of_the_group(cloud: Cloud, connection: LiveAdapter) -> None:
    """The pool may have another state, and the group's launches still fail."""
    _failing(cloud, "filled")
    cloud.world.advance(30)
    assert connection.state("filled").hold.scale_out is not None
    group = cloud.server.groups()["filled"]
    now = cloud.world.now
    group.activities.insert(
        0, Activity("filled", "Launching a new EC2 instance into warm pool: i-1", "", now, "activity-w")
    )
    group.activities[0].end(now)
    assert connection.state("filled").hold.scale_out is not None


@pytest.mark.parametrize(
    ("codes", "held"),
    [
        (("PreInService", "WaitingForInstanceWarmup"), False),
        (("Failed", "MidLifecycleAction", "Cancelled"), True),
        (("Failed", "Successful", "Failed", "Failed"), False),
    ],
)
def test_only_launches_that_have_ended_count(codes: Sequence[str], held: bool) -> None:
    """The group lacks instances all the time. The imitated group cannot be made to keep launches under way.

    Source of the codes: Auto Scaling API Reference, Activity.
    """
    clock = MovedClock()
    activities = [
        {"Description": "Launching a new EC2 instance: i-1", "StatusCode": code, "StartTime": clock.now() - age}
        for code, age in zip(codes, (timedelta(minutes=minutes) for minutes in range(1, 9)), strict=False)
    ]
    api = SimpleNamespace(ask=lambda *_: {"Activities": activities})
    breaker = Breaker(cast("AwsApi", api), CircuitBreaker(failures=2), clock)
    breaker.read_activities((), ("web",), Call(clock.now(), clock.monotonic() + 60))
    assert (breaker.hold("web") is not None) == held
