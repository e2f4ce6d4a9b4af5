"""One entry of an answer lacks what AWS documents. It costs its own group alone, in each list that is read for many."""

from collections.abc import Mapping
from typing import Any

import pytest

from adapters.aws.api import AwsApi
from adapters.aws.raw import Raw
from autoscaler.model import Call, Held, TargetState, Written
from autoscaler.target import TargetDeferred, TargetError
from tests.adapters.aws.connecting import Change, ChangeAnswer
from tests.adapters.aws_asg.conftest import Cloud, LiveAdapter

pytestmark = pytest.mark.slow


def _of(answer: Any, group: str) -> Any:
    return next(one for one in answer["AutoScalingGroups"] if one.get("AutoScalingGroupName") == group)


@pytest.mark.parametrize(
    "spoil",
    [
        lambda group: group.pop("Instances"),
        lambda group: group["Instances"][0].pop("InstanceId"),
        lambda group: group["Instances"][0].update(LifecycleState=["InService"]),
        lambda group: group["Instances"][0].pop("HealthStatus"),
        lambda group: group.update(SuspendedProcesses=[{}]),
        lambda group: group.update(DesiredCapacity="many"),
        lambda group: group.update(Tags=[{}]),
        lambda group: group.pop("MaxSize"),
        lambda group: group.pop("AutoScalingGroupName"),
        lambda group: group.update(DesiredCapacityType=["vcpu"]),
    ],
)
def test_an_odd_group_fails_alone(cloud: Cloud, connection: LiveAdapter, change: ChangeAnswer, spoil: Change) -> None:
    """A hundred groups are described in one answer; ninety-nine of them are well."""
    cloud.create("odd", 1)
    cloud.create("well", 1)
    change("describe_auto_scaling_groups", lambda answer: spoil(_of(answer, "odd")))
    found = connection.observe("odd", "well", "gone")
    assert isinstance(found["odd"], TargetError)
    assert isinstance(found["well"], TargetState)
    assert isinstance(found["gone"], TargetError)


@pytest.mark.parametrize("key", ["InstanceId", "LaunchTime"])
def test_an_odd_instance_of_ec2_fails_its_group_alone(
    cloud: Cloud, connection: LiveAdapter, change: ChangeAnswer, key: str
) -> None:
    """EC2 describes two hundred instances of all groups in one answer."""
    cloud.create("odd", 1)
    cloud.create("well", 1)
    (odd,) = cloud.ids("odd")

    def spoil(answer: Any) -> None:
        for reservation in answer["Reservations"]:
            for one in reservation["Instances"]:
                if one["InstanceId"] == odd:
                    one.pop("InstanceId") if key == "InstanceId" else one.update(LaunchTime="yesterday")

    change("describe_instances", spoil)
    found = connection.observe("odd", "well")
    assert isinstance(found["odd"], TargetError)
    assert isinstance(found["well"], TargetState)


def test_an_odd_policy_hides_no_other(cloud: Cloud, connection: LiveAdapter, change: ChangeAnswer) -> None:
    """The lists of policies are of the whole account."""
    for group in ("odd", "well"):
        cloud.create(group, 1)
        cloud.add_policy(group, f"of-{group}")
    change("describe_policies", lambda answer: answer["ScalingPolicies"][0].pop("PolicyName"))
    for _ in range(3):
        connection.observe("odd", "well")
    said = " ".join(connection.state("odd").warnings + connection.state("well").warnings)
    assert ("of-odd" in said) != ("of-well" in said), "the first one of the list is odd"
    assert "aws_request_failed" in connection.logger.events


def test_a_throttled_request_keeps_the_hold_of_a_known_refresh(cloud: Cloud, connection: LiveAdapter) -> None:
    """Otherwise a scale-in could terminate the instances that the refresh has just launched."""
    cloud.create("refresh", 2)
    state = connection.state("refresh")
    cloud.autoscaling.start_instance_refresh(AutoScalingGroupName="refresh")
    held = connection.scale("refresh", state, 1)
    assert isinstance(held, Held)
    cloud.server.refuse("DescribeInstanceRefreshes", "Throttling", "Rate exceeded")
    for _ in range(3):
        assert connection.state("refresh").hold.scale_in == held.hold
    cloud.server.faults.faults.clear()
    assert connection.state("refresh").hold.scale_in == held.hold


def test_a_refresh_that_cannot_be_read_does_not_keep_others_from_their_turn(
    cloud: Cloud, connection: LiveAdapter, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One group a cycle: the request about the first one fails for ever, and the second one's refresh has ended."""
    monkeypatch.setattr("adapters.aws_asg.refreshes._GROUPS_PER_CYCLE", 1)
    genuine = AwsApi.ask

    def ask(api: AwsApi, service: str, operation: str, call: Call, parameters: Mapping[str, Any], **more: Any) -> Raw:
        if operation == "describe_instance_refreshes" and parameters["AutoScalingGroupName"] == "first" and failing:
            raise TargetDeferred("throttled")
        return genuine(api, service, operation, call, parameters, **more)

    failing = False
    monkeypatch.setattr(AwsApi, "ask", ask)
    for group in ("first", "second"):
        cloud.create(group, 2)
        cloud.autoscaling.start_instance_refresh(AutoScalingGroupName=group)
    seen = connection.observe("first", "second")
    for group, state in seen.items():
        assert isinstance(state, TargetState)
        assert isinstance(connection.scale(group, state, 1), Held)
    failing = True
    cloud.autoscaling.cancel_instance_refresh(AutoScalingGroupName="second")
    for _ in range(4):
        found = connection.observe("first", "second")
    holds = {name: isinstance(state, TargetState) and state.hold.scale_in is not None for name, state in found.items()}
    assert holds == {"first": True, "second": False}
    assert connection.scale("second", connection.state("second"), 1) == Written(1)
