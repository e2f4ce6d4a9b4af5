"""The write test on a server that allows actions as IAM does: before it looks at any parameter."""

import pytest

from autoscaler.errors import TargetForbidden, TargetUnavailable
from tests.adapters.aws.connecting import least_policy
from tests.adapters.aws_asg.conftest import Cloud, Connect, LiveAdapter
from tests.servers.aws.server import REGION
from tests.servers.faults import Fault

pytestmark = pytest.mark.slow
_LEAST_POLICY = least_policy("aws-asg.md")
_ENDS = "autoscaling:TerminateInstanceInAutoScalingGroup"


@pytest.fixture
def connection(cloud: Cloud, connect: Connect) -> LiveAdapter:
    """A connection that drains the group `web`: all actions are needed."""
    cloud.create("web", 2)
    cloud.hook("web", "leave")
    return connect({"web": None}, endpointUrl=cloud.server.url)


def test_the_least_policy_passes(cloud: Cloud, connection: LiveAdapter) -> None:
    """The group keeps its size; the answer names the one action that it does not test."""
    cloud.server.allowed = frozenset(_LEAST_POLICY)
    before = cloud.describe("web")
    answer = f"permitted: AWS refused the size 1000010 only because it is above MaxSize; not tested: {_ENDS}"
    assert str(connection.try_write("web")).startswith(answer)
    assert cloud.describe("web") == before


@pytest.mark.parametrize("action", sorted(_LEAST_POLICY - {_ENDS}))
def test_each_action_that_the_policy_lacks_is_named(cloud: Cloud, connection: LiveAdapter, action: str) -> None:
    """AWS's own messages do not always name it. `check` observes before it tries a write."""
    cloud.server.allowed = frozenset(_LEAST_POLICY - {action})
    assert f"AWS {REGION}, {action}: " in f"{connection.look('web')}, {connection.try_write('web')}"


def test_all_missing_actions_are_named_at_once(cloud: Cloud, connection: LiveAdapter) -> None:
    """The policy is corrected in one step."""
    cloud.server.allowed = frozenset({"autoscaling:DescribeAutoScalingGroups"})
    refused = connection.try_write("web")
    assert isinstance(refused, TargetForbidden)
    needed = {one for one in _LEAST_POLICY if one.startswith("autoscaling:")} - cloud.server.allowed - {_ENDS}
    assert {one for one in _LEAST_POLICY if one in str(refused)} == needed


def test_a_lost_answer_is_no_permission(cloud: Cloud, connection: LiveAdapter) -> None:
    """It says that nothing can have changed, which is unlike a write whose answer was lost."""
    cloud.server.refuse("SetDesiredCapacity", "InternalFailure", status=500)
    lost = connection.try_write("web")
    assert isinstance(lost, TargetUnavailable)
    assert "AWS cannot have set it, because it is above MaxSize" in str(lost)


def test_a_server_that_accepts_the_size_is_an_error(cloud: Cloud, connection: LiveAdapter) -> None:
    """The URL is of another server than AWS, and its size has changed."""
    done = "<ResponseMetadata><RequestId>1</RequestId></ResponseMetadata>"
    answer = f"<SetDesiredCapacityResponse>{done}</SetDesiredCapacityResponse>"
    cloud.server.faults.faults.append(Fault("SetDesiredCapacity", 200, answer, "text/xml"))
    accepted = connection.try_write("web")
    assert isinstance(accepted, TargetUnavailable)
    assert "was accepted, although it is above MaxSize; set the desired capacity" in str(accepted)
