"""The write test on a server that allows actions as IAM does: before it looks at any parameter."""

from pathlib import Path

import pytest

from autoscaler.errors import TargetForbidden, TargetUnavailable
from autoscaler.model import TargetRef
from tests.adapters.aws.connecting import least_policy
from tests.adapters.aws_asg.conftest import Cloud, Connect, LiveAdapter
from tests.cli.write_tested import said, write_tested, wrong
from tests.daemon.running import autoscaler, write_config
from tests.servers.aws.server import REGION
from tests.servers.faults import Fault

pytestmark = pytest.mark.slow
_LEAST_POLICY = least_policy("aws-asg.md")
_ENDS = "autoscaling:TerminateInstanceInAutoScalingGroup"
_WEB = TargetRef("test", "web")


@pytest.fixture
def config(tmp_path: Path, cloud: Cloud, connect: Connect, prometheus: str, monkeypatch: pytest.MonkeyPatch) -> Path:
    """One autoscaler with a drain: all actions are needed."""
    monkeypatch.setenv("STATE_DIRECTORY", str(tmp_path / "state"))
    cloud.create("web", 2)
    cloud.hook("web", "leave")
    scaler = autoscaler("web", "vector(1)", "aws", drain={"http": {"url": "http://{address}/drain"}})
    section = {"type": "aws-asg", "region": REGION, "endpointUrl": cloud.server.url}
    return write_config(tmp_path, prometheus, [scaler], {"aws": section})


def test_the_least_policy_passes(cloud: Cloud, config: Path) -> None:
    """The group keeps its size; the answer names the one action that it does not test."""
    cloud.server.allowed = frozenset(_LEAST_POLICY)
    before = cloud.describe("web")
    found = write_tested(config)
    assert not found.wrong, wrong(found)
    answer = f"permitted: AWS refused the size 1000010 only because it is above MaxSize; not tested: {_ENDS}"
    assert said(found).startswith(answer)
    assert cloud.describe("web") == before


@pytest.mark.parametrize("action", sorted(_LEAST_POLICY - {_ENDS}))
def test_each_action_that_the_policy_lacks_is_named(cloud: Cloud, config: Path, action: str) -> None:
    """AWS's own messages do not always name it."""
    cloud.server.allowed = frozenset(_LEAST_POLICY - {action})
    assert f"AWS {REGION}, {action}: " in wrong(write_tested(config))


def test_all_missing_actions_are_named_at_once(cloud: Cloud, connect: Connect) -> None:
    """The policy is corrected in one step."""
    connection = connect({"web": None}, endpointUrl=cloud.server.url)
    cloud.create("web", 1)
    cloud.hook("web", "leave")
    cloud.server.allowed = frozenset({"autoscaling:DescribeAutoScalingGroups"})
    with pytest.raises(TargetForbidden) as refused:
        connection.adapter.try_write(_WEB, connection.call())
    needed = {one for one in _LEAST_POLICY if one.startswith("autoscaling:")} - cloud.server.allowed - {_ENDS}
    assert {one for one in _LEAST_POLICY if one in str(refused.value)} == needed


def test_a_lost_answer_is_no_permission(cloud: Cloud, connection: LiveAdapter) -> None:
    """It says that nothing can have changed, which is unlike a write whose answer was lost."""
    cloud.create("web", 1)
    cloud.server.refuse("SetDesiredCapacity", "InternalFailure", status=500)
    with pytest.raises(TargetUnavailable, match="AWS cannot have set it, because it is above MaxSize"):
        connection.adapter.try_write(_WEB, connection.call())


def test_a_server_that_accepts_the_size_is_an_error(cloud: Cloud, connection: LiveAdapter) -> None:
    """The URL is of another server than AWS, and its size has changed."""
    cloud.create("web", 1)
    done = "<ResponseMetadata><RequestId>1</RequestId></ResponseMetadata>"
    answer = f"<SetDesiredCapacityResponse>{done}</SetDesiredCapacityResponse>"
    cloud.server.faults.faults.append(Fault("SetDesiredCapacity", 200, answer, "text/xml"))
    with pytest.raises(TargetUnavailable, match="was accepted, although it is above MaxSize; set the desired capacity"):
        connection.adapter.try_write(_WEB, connection.call())
