"""AWS refuses, fails, is slow, or answers with invalid data.

In each case the adapter writes no size and raises only TargetError.
"""

import time
from collections.abc import Iterator
from dataclasses import replace

import pytest

from adapters.aws.budget import Budget, shared_budget
from autoscaler.clock import SystemClock
from autoscaler.errors import (
    StateError,
    TargetError,
    TargetForbidden,
    TargetNotFound,
    TargetNotWritten,
    TargetUnavailable,
)
from autoscaler.model import TargetRef, TargetState, Written
from autoscaler.target import ForgetfulMemory
from tests.adapters.aws_asg.conftest import Cloud, Connect, LiveAdapter
from tests.servers.faults import Fault
from tests.servers.scripted import Wire, scripted

pytestmark = pytest.mark.slow
_DEADLINE_SECONDS = 1.0
_LATE_SECONDS = 30.0
"""Tolerance of the deadline on a busy machine; the faults last much longer."""


def _error(code: str, message: str) -> str:
    return f"<ErrorResponse><Error><Code>{code}</Code><Message>{message}</Message></Error></ErrorResponse>"


def _described(group: str) -> str:
    groups = f"<AutoScalingGroups><member>{group}</member></AutoScalingGroups>"
    result = f"<DescribeAutoScalingGroupsResult>{groups}</DescribeAutoScalingGroupsResult>"
    return f"<DescribeAutoScalingGroupsResponse>{result}</DescribeAutoScalingGroupsResponse>"


_FAULTS = {
    "unknown key": (Fault("", 403, _error("InvalidClientTokenId", "who are you")), TargetForbidden, "who are you"),
    "unknown client": (Fault("", 400, _error("UnrecognizedClientException", "no")), TargetForbidden, "Unrecognized"),
    "expired": (Fault("", 403, _error("ExpiredToken", "too late")), TargetForbidden, "too late"),
    "forbidden": (Fault("", 403, _error("AccessDenied", "not authorized")), TargetForbidden, "list the permissions"),
    "a proxy's 401": (Fault("", 401, _error("Whatever", "log in")), TargetForbidden, "log in"),
    "a proxy's 404": (Fault("", 404, _error("NoSuchPage", "lost")), TargetUnavailable, "404"),
    "throttled": (Fault("", 400, _error("Throttling", "Rate exceeded")), TargetUnavailable, "Rate exceeded"),
    "throttled by 429": (Fault("", 429, _error("Slow", "slow down")), TargetUnavailable, "slow down"),
    "contention": (Fault("", 500, _error("ResourceContention", "pending")), TargetUnavailable, "pending"),
    "a 409": (Fault("", 409, _error("Conflict", "meanwhile")), TargetUnavailable, "meanwhile"),
    "broken": (Fault("", 500, _error("InternalFailure", "oh no")), TargetUnavailable, "oh no"),
    "bad gateway": (Fault("", 502, "<html>bad gateway</html>"), TargetUnavailable, "502"),
    "cut by a proxy": (Fault("", 206, _described("")), TargetUnavailable, "206"),
    "not XML": (Fault("", 200, "welcome"), TargetUnavailable, "cannot be parsed"),
    "another page": (Fault("", 200, "<html><p>welcome</p></html>"), TargetUnavailable, "cannot be parsed"),
    "another shape": (
        Fault("", 200, _described("<AutoScalingGroupName>faulty</AutoScalingGroupName>")),
        TargetUnavailable,
        "documents",
    ),
    "cut off": (Fault("", 200, "<DescribeAutoScalingGroupsRes"), TargetUnavailable, "cannot be parsed"),
}
_UNKNOWN = ("broken", "bad gateway", "cut by a proxy", "not XML", "cut off")
"""After these faults, AWS may have performed the write."""


@pytest.fixture
def at_one(cloud: Cloud, connection: LiveAdapter) -> Iterator[TargetState]:
    """The state of a group `faulty` at size 1, which must keep that size."""
    cloud.create("faulty", 1)
    yield connection.state("faulty")
    cloud.server.faults.faults.clear()
    assert cloud.desired("faulty") == 1


@pytest.mark.parametrize("name", _FAULTS)
def test_a_fault_of_a_read_is_reported_as_what_it_is(
    cloud: Cloud, connection: LiveAdapter, at_one: TargetState, name: str
) -> None:
    """An outage must not look like a group without instances, nor a refusal of credentials like an outage.

    When the read before a write fails, nothing is written, and the outcome says so.
    """
    fault, expected, said = _FAULTS[name]
    cloud.server.faults.faults.append(replace(fault, pattern="DescribeAutoScalingGroups"))
    found, outcome = connection.look("faulty"), connection.scale("faulty", at_one, 3)
    assert isinstance(found, expected), found
    assert said in str(found)
    assert isinstance(outcome, TargetNotWritten if expected is TargetUnavailable else expected), outcome
    assert cloud.server.count("Set|Terminate") == 0


@pytest.mark.parametrize("name", [name for name in _FAULTS if not name.startswith("another")])
def test_a_write_that_fails_is_reported_as_what_it_is(
    cloud: Cloud, connection: LiveAdapter, at_one: TargetState, name: str
) -> None:
    """The read succeeds and the write fails. The outcome tells a write that was not performed from one that may have
    been.
    """
    fault, expected, _ = _FAULTS[name]
    if expected is TargetUnavailable and name not in _UNKNOWN:
        expected = TargetNotWritten
    cloud.server.faults.faults.append(replace(fault, pattern="SetDesiredCapacity"))
    outcome = connection.scale("faulty", at_one, 3)
    assert isinstance(outcome, expected), outcome
    assert connection.state("faulty").replicas == 1


def test_a_scale_in_fails_when_instance_refreshes_cannot_be_read(
    cloud: Cloud, connection: LiveAdapter, at_one: TargetState
) -> None:
    """An instance refresh may be in progress."""
    cloud.server.refuse("DescribeInstanceRefreshes", "AccessDenied", status=403)
    assert isinstance(connection.scale("faulty", at_one, 0), TargetForbidden)


@pytest.mark.parametrize("action", ["DescribePolicies", "DescribeScheduledActions", "DescribeScalingActivities"])
def test_an_optional_read_may_fail(cloud: Cloud, connection: LiveAdapter, at_one: TargetState, action: str) -> None:
    """The failure is logged once, and scaling continues."""
    cloud.world.launch_seconds = 3600
    cloud.create("starting", 1)
    cloud.world.advance(600)
    cloud.server.refuse(action, "AccessDenied", "not that", 403)
    for _ in range(2):
        assert isinstance(connection.look("starting"), TargetState)
        cloud.world.advance(600)
    said = [keys["error"] for keys in connection.logger.of("aws_request_failed")]
    assert len(said) == 1
    assert "not that" in said[0]


def test_an_optional_read_takes_at_most_half_of_the_time(
    cloud: Cloud, connection: LiveAdapter, at_one: TargetState
) -> None:
    """Otherwise a slow list of policies would cost all groups their cycle."""
    cloud.world.advance(600)
    cloud.server.faults.faults.append(Fault("DescribePolicies", delay_seconds=60))
    call = connection.call(20)
    found = connection.adapter.observe([TargetRef("test", "faulty")], call)
    assert SystemClock().monotonic() < call.deadline
    assert [type(state) for state in found.values()] == [TargetState]


def test_half_of_a_batch_failing_leaves_the_other_half(cloud: Cloud, connection: LiveAdapter) -> None:
    """The second hundred of groups fails; the first is read."""
    names = [f"batch-{number:03}" for number in range(150)]
    cloud.server.create_many(names)
    through = Fault("DescribeAutoScalingGroups", first=lambda: None, times=1)
    cloud.server.faults.faults.append(through)
    cloud.server.refuse("DescribeAutoScalingGroups", "AccessDenied", status=403)
    answer = connection.observe(*names)
    assert {type(state) for state in list(answer.values())[:100]} == {TargetState}
    assert {type(state) for state in list(answer.values())[100:]} == {TargetForbidden}


def test_ec2_failing_concerns_the_groups_with_instances_that_are_not_known(
    cloud: Cloud, connection: LiveAdapter, at_one: TargetState
) -> None:
    """Without addresses no sample joins its instance, and all instances would look idle."""
    cloud.create("new", 1)
    cloud.server.refuse("DescribeInstances$", "UnauthorizedOperation", "not allowed", 403)
    assert isinstance(connection.look("faulty"), TargetState)
    found = connection.look("new")
    assert isinstance(found, TargetForbidden)
    assert "ec2:DescribeInstances" in str(found)


_SLOW = {
    "silent": Fault("", delay_seconds=60),
    "trickling": Fault("", 200, "<a>" + " " * 600 + "</a>", "text/xml", trickle_seconds=0.1),
}


@pytest.mark.parametrize("name", _SLOW)
def test_a_slow_server_is_left_at_the_deadline(
    cloud: Cloud, connection: LiveAdapter, at_one: TargetState, name: str
) -> None:
    """Each byte of a slow answer arrives in time; the whole answer never does."""
    cloud.server.faults.faults.append(replace(_SLOW[name], pattern="Describe"))
    began = time.monotonic()
    found = connection.look("faulty", _DEADLINE_SECONDS)
    assert time.monotonic() - began < _DEADLINE_SECONDS + _LATE_SECONDS
    assert isinstance(found, TargetUnavailable)
    assert "deadline" in str(found)
    began = time.monotonic()
    outcome = connection.scale("faulty", at_one, 3, seconds=_DEADLINE_SECONDS)
    assert time.monotonic() - began < _DEADLINE_SECONDS + _LATE_SECONDS
    assert isinstance(outcome, TargetNotWritten)
    assert cloud.server.count("SetDesiredCapacity") == 0


def test_a_read_on_a_connection_that_was_closed_is_repeated(connect: Connect) -> None:
    """A proxy ends idle connections as the next request arrives."""

    def dropping(wire: Wire) -> None:
        wire.read()
        wire.answer(_described("").replace("<member></member>", "").encode())
        wire.read()

    with scripted(dropping) as aws:
        connection = connect(endpointUrl=aws.url)
        assert [type(connection.look("any", 60)) for _ in range(2)] == [TargetNotFound] * 2


def test_a_write_without_an_answer_is_of_unknown_outcome(
    cloud: Cloud, connection: LiveAdapter, at_one: TargetState
) -> None:
    """The message says so, the write is not repeated, and the next observation shows its result."""
    cloud.server.faults.faults.append(Fault("SetDesiredCapacity", delay_seconds=60))
    outcome = connection.scale("faulty", at_one, 3, seconds=6)
    assert isinstance(outcome, TargetUnavailable)
    assert "unknown" in str(outcome)
    assert cloud.server.count("SetDesiredCapacity") == 1
    assert connection.state("faulty").replicas == 1


def test_a_transient_fault_is_retried_within_the_call(
    cloud: Cloud, connection: LiveAdapter, at_one: TargetState
) -> None:
    """A read that fails once and a write that is throttled once are retried."""
    cloud.server.refuse("DescribeAutoScalingGroups", "InternalFailure", status=500, times=1)
    cloud.server.refuse("SetDesiredCapacity", "Throttling", "Rate exceeded", times=1)
    assert connection.scale("faulty", connection.state("faulty"), 2) == Written(2)
    assert connection.scale("faulty", connection.state("faulty"), 1) == Written(1)


def test_the_connection_works_again_after_a_fault(cloud: Cloud, connection: LiveAdapter, at_one: TargetState) -> None:
    """The rest of an aborted answer must not count as the next one."""
    cloud.server.faults.faults.append(replace(_SLOW["trickling"], pattern="Describe"))
    assert isinstance(connection.look("faulty", 0.5), TargetError)
    cloud.server.faults.faults.clear()
    assert connection.state("faulty").replicas == 1


def test_a_target_deleted_in_the_moment_of_the_write_is_not_found(cloud: Cloud, connection: LiveAdapter) -> None:
    """The group is deleted after the last read and before the write."""
    cloud.create("vanished", 1)
    seen = connection.state("vanished")

    def delete() -> None:
        cloud.autoscaling.delete_auto_scaling_group(AutoScalingGroupName="vanished", ForceDelete=True)

    cloud.server.faults.faults.append(Fault("SetDesiredCapacity", first=delete, times=1))
    assert isinstance(connection.scale("vanished", seen, 3), TargetNotFound)


def test_a_memory_that_cannot_be_written_stops_the_end_of_an_instance(
    cloud: Cloud, connection: LiveAdapter, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A forgotten termination could be repeated while reads lag."""
    cloud.create("kept", 2)
    state, ids = connection.state("kept"), cloud.ids("kept")

    def full(*_: object) -> None:
        raise StateError("state.db: the disk is full")

    monkeypatch.setattr(ForgetfulMemory, "save", full)
    outcome = connection.scale("kept", state, 1, victims=tuple(ids))
    assert isinstance(outcome, TargetNotWritten)
    assert "the disk is full" in str(outcome)
    assert cloud.server.count("Terminate") == 0


def test_a_size_that_cannot_be_remembered_is_written_and_believed_until_a_restart(
    cloud: Cloud, connection: LiveAdapter, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A size is absolute: setting it again after a restart has no effect."""
    cloud.create("known", 1)
    cloud.world.advance(600)
    state = connection.state("known")
    cloud.world.lag_seconds = 20

    def full(*_: object) -> None:
        raise StateError("state.db: the disk is full")

    monkeypatch.setattr(ForgetfulMemory, "save", full)
    assert connection.scale("known", state, 3) == Written(3)
    assert connection.state("known").replicas == 3
    assert connection.logger.events == ["aws_write_not_kept"]


def test_throttling_of_one_connection_slows_the_other(cloud: Cloud, connect: Connect) -> None:
    """Two connections to one account share the reduced rate."""
    cloud.create("calm", 1)
    one, other = (connect(endpointUrl=cloud.server.url) for _ in range(2))
    other.state("calm")
    for _ in range(3):
        cloud.server.refuse("DescribeAutoScalingGroups", "Throttling", "Rate exceeded")
        one.look("calm", 4)
        cloud.server.faults.faults.clear()
    shared = shared_budget("autoscaling", cloud.server.url, None, "eu-west-1")
    assert isinstance(shared, Budget)
    assert shared.reserve(0, 0.05) is None
