"""The extension of moto's server follows AWS' documentation. The rules cite the pages."""

from collections.abc import Iterator
from typing import Any

import pytest
from botocore.exceptions import ClientError

from tests.servers.aws import AwsServer, running_aws
from tests.servers.aws.server import REGION

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def server() -> Iterator[AwsServer]:
    with running_aws() as running:
        running.create_launch_template()
        yield running


@pytest.fixture
def cloud(server: AwsServer) -> Any:
    server.reset()
    server.world.advance(0)
    return server.client("autoscaling")


def _create(cloud: Any, size: int = 1, least: int = 0, most: int = 5, **more: Any) -> None:
    cloud.create_auto_scaling_group(
        AutoScalingGroupName="web",
        MinSize=least,
        MaxSize=most,
        DesiredCapacity=size,
        AvailabilityZones=[f"{REGION}a"],
        LaunchTemplate={"LaunchTemplateName": "worker"},
        **more,
    )


def _states(cloud: Any) -> list[str]:
    (group,) = cloud.describe_auto_scaling_groups(AutoScalingGroupNames=["web"])["AutoScalingGroups"]
    return [one["LifecycleState"] for one in group["Instances"]]


def _ids(cloud: Any) -> list[str]:
    (group,) = cloud.describe_auto_scaling_groups(AutoScalingGroupNames=["web"])["AutoScalingGroups"]
    return [one["InstanceId"] for one in group["Instances"]]


def _activities(cloud: Any) -> list[tuple[str, str]]:
    found = cloud.describe_scaling_activities(AutoScalingGroupName="web")["Activities"]
    return [(one["Description"].split(" EC2")[0], one["StatusCode"]) for one in found]


def test_launches_and_ends_take_time(server: AwsServer, cloud: Any) -> None:
    server.world.launch_seconds, server.world.terminate_seconds = 30, 20
    _create(cloud)
    assert _states(cloud) == ["Pending"]
    server.world.advance(30)
    assert _states(cloud) == ["InService"]
    cloud.set_desired_capacity(AutoScalingGroupName="web", DesiredCapacity=0)
    assert _states(cloud) == ["Terminating"]
    server.world.advance(20)
    assert _states(cloud) == []
    assert _activities(cloud) == [("Terminating", "Successful"), ("Launching a new", "Successful")]


@pytest.mark.parametrize(("result", "left"), [("CONTINUE", 1), ("ABANDON", 0)])
def test_a_hook_admits_or_abandons_an_instance(server: AwsServer, cloud: Any, result: str, left: int) -> None:
    _create(cloud, 0)
    transition = "autoscaling:EC2_INSTANCE_LAUNCHING"
    cloud.put_lifecycle_hook(
        LifecycleHookName="hook", AutoScalingGroupName="web", LifecycleTransition=transition, HeartbeatTimeout=60
    )
    cloud.set_desired_capacity(AutoScalingGroupName="web", DesiredCapacity=1)
    assert _states(cloud) == ["Pending:Wait"]
    (one,) = _ids(cloud)
    cloud.suspend_processes(AutoScalingGroupName="web", ScalingProcesses=["Launch"])
    cloud.complete_lifecycle_action(
        LifecycleHookName="hook", AutoScalingGroupName="web", InstanceId=one, LifecycleActionResult=result
    )
    assert _states(cloud) == ["InService"] * left


def test_a_hook_without_an_answer_abandons_after_its_heartbeat(server: AwsServer, cloud: Any) -> None:
    _create(cloud, 0)
    transition = "autoscaling:EC2_INSTANCE_LAUNCHING"
    cloud.put_lifecycle_hook(
        LifecycleHookName="hook", AutoScalingGroupName="web", LifecycleTransition=transition, HeartbeatTimeout=60
    )
    cloud.set_desired_capacity(AutoScalingGroupName="web", DesiredCapacity=1)
    (first,) = _ids(cloud)
    server.world.advance(60)
    assert ("Launching a new", "Failed") in _activities(cloud)
    assert first not in _ids(cloud)


def test_a_suspended_launch_happens_when_it_resumes(cloud: Any) -> None:
    _create(cloud)
    cloud.suspend_processes(AutoScalingGroupName="web", ScalingProcesses=["Launch"])
    cloud.set_desired_capacity(AutoScalingGroupName="web", DesiredCapacity=3)
    assert len(_states(cloud)) == 1
    cloud.resume_processes(AutoScalingGroupName="web", ScalingProcesses=["Launch"])
    assert len(_states(cloud)) == 3


def test_a_suspended_termination_happens_when_it_resumes(cloud: Any) -> None:
    _create(cloud, 3)
    cloud.suspend_processes(AutoScalingGroupName="web", ScalingProcesses=["Terminate"])
    cloud.set_desired_capacity(AutoScalingGroupName="web", DesiredCapacity=1)
    assert len(_states(cloud)) == 3
    cloud.resume_processes(AutoScalingGroupName="web", ScalingProcesses=["Terminate"])
    assert len(_states(cloud)) == 1


def test_sizes_outside_the_limits_are_refused(cloud: Any) -> None:
    _create(cloud, 2, least=2, most=3)
    with pytest.raises(ClientError, match="above max value 3"):
        cloud.set_desired_capacity(AutoScalingGroupName="web", DesiredCapacity=4)
    with pytest.raises(ClientError, match="below min value 2"):
        cloud.set_desired_capacity(AutoScalingGroupName="web", DesiredCapacity=1)
    (one, _) = _ids(cloud)
    with pytest.raises(ClientError, match="min size constraint"):
        cloud.terminate_instance_in_auto_scaling_group(InstanceId=one, ShouldDecrementDesiredCapacity=True)
    with pytest.raises(ClientError, match="min-size=2"):
        cloud.enter_standby(AutoScalingGroupName="web", InstanceIds=[one], ShouldDecrementDesiredCapacity=True)


def test_a_terminated_instance_is_replaced_unless_the_size_is_reduced(cloud: Any) -> None:
    _create(cloud, 2)
    (one, other) = _ids(cloud)
    cloud.terminate_instance_in_auto_scaling_group(InstanceId=one, ShouldDecrementDesiredCapacity=False)
    assert len(_ids(cloud)) == 2
    cloud.terminate_instance_in_auto_scaling_group(InstanceId=other, ShouldDecrementDesiredCapacity=True)
    assert len(_ids(cloud)) == 1


def test_failing_launches_are_activities_and_are_repeated(server: AwsServer, cloud: Any) -> None:
    server.world.launch_failure = "No capacity."
    _create(cloud)
    server.world.advance(20)
    assert _activities(cloud) == [("Launching a new", "Failed")] * 3
    server.world.launch_failure = None
    assert _states(cloud) == [] or _states(cloud) == ["InService"]
    assert _activities(cloud)[0] == ("Launching a new", "Successful")


def test_one_instance_refresh_at_a_time(server: AwsServer, cloud: Any) -> None:
    _create(cloud)
    cloud.start_instance_refresh(AutoScalingGroupName="web")
    with pytest.raises(ClientError, match="InstanceRefreshInProgress"):
        cloud.start_instance_refresh(AutoScalingGroupName="web")
    server.world.advance(server.world.refresh_seconds)
    cloud.start_instance_refresh(AutoScalingGroupName="web")
    cloud.cancel_instance_refresh(AutoScalingGroupName="web")
    found = cloud.describe_instance_refreshes(AutoScalingGroupName="web")["InstanceRefreshes"]
    assert [one["Status"] for one in found] == ["Cancelled", "Successful"]
