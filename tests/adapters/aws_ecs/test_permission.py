"""The least policy, and the write test on a server that allows actions as IAM does: before it looks at a parameter."""

from pathlib import Path

import pytest

from autoscaler.errors import TargetForbidden
from autoscaler.model import TargetRef, Written
from tests.adapters.aws.connecting import least_policy
from tests.adapters.aws_ecs.conftest import BRIDGE, Cloud, Connect, LiveAdapter
from tests.cli.write_tested import said, write_tested, wrong
from tests.daemon.running import autoscaler, write_config
from tests.servers.aws.server import REGION

pytestmark = pytest.mark.slow
_LEAST_POLICY = least_policy("aws-ecs.md")
_OF_VICTIMS = {"ecs:GetTaskProtection", "ecs:UpdateTaskProtection"}


@pytest.fixture
def config(tmp_path: Path, cloud: Cloud, connect: Connect, prometheus: str, monkeypatch: pytest.MonkeyPatch) -> Path:
    """One autoscaler of a service on ports of a container instance: all actions are needed."""
    monkeypatch.setenv("STATE_DIRECTORY", str(tmp_path / "state"))
    cloud.register_machine("metal")
    cloud.create("metal/web", 2, cloud.define(**BRIDGE))
    section = {"type": "aws-ecs", "region": REGION, "endpointUrl": cloud.server.url}
    scaler = autoscaler("web", "vector(1)", "aws")
    scaler["scaleTargetRef"]["name"] = "metal/web"
    return write_config(tmp_path, prometheus, [scaler], {"aws": section})


def test_nothing_outside_the_documented_policy_is_called(cloud: Cloud, connection: LiveAdapter) -> None:
    """Every permission of the policy is needed: a least-privilege policy has no other."""
    cloud.register_machine("metal")
    cloud.create("metal/web", 2, cloud.define(**BRIDGE))
    assert connection.scale("metal/web", connection.state("metal/web"), 3) == Written(3)
    seen = connection.state("metal/web")
    assert connection.scale("metal/web", seen, 2, victims=tuple(one.name for one in seen.instances)) == Written(2)
    called = {one.action for one in cloud.server.requests if one.access_key != "somebody"}
    assert called == _LEAST_POLICY


def test_the_least_policy_passes(cloud: Cloud, config: Path) -> None:
    """The service keeps its size, its tasks and its deployment."""
    cloud.server.allowed = frozenset(_LEAST_POLICY)
    service = cloud.server.services()["metal/web"]
    before = service.described(tags=True), [task.id for task in service.tasks]
    found = write_tested(config)
    assert not found.wrong, wrong(found)
    assert said(found).startswith("permitted: AWS accepted an update that changes nothing; not tested: ")
    assert all(action in said(found) for action in _OF_VICTIMS)
    assert (service.described(tags=True), [task.id for task in service.tasks]) == before


@pytest.mark.parametrize("action", sorted(_LEAST_POLICY - _OF_VICTIMS))
def test_each_action_that_the_policy_lacks_is_named(cloud: Cloud, config: Path, action: str) -> None:
    """AWS's own messages do not always name it."""
    cloud.server.allowed = frozenset(_LEAST_POLICY - {action})
    assert f"AWS {REGION}, {action}: " in wrong(write_tested(config))


def test_both_missing_actions_of_the_write_test_are_named_at_once(cloud: Cloud, connection: LiveAdapter) -> None:
    """The policy is corrected in one step."""
    cloud.create("shop/web", 1)
    cloud.server.allowed = frozenset({"ecs:DescribeServices"})
    with pytest.raises(TargetForbidden) as refused:
        connection.adapter.try_write(TargetRef("test", "shop/web"), connection.call())
    for action in ("ecs:UpdateService", "application-autoscaling:DescribeScalableTargets"):
        assert action in str(refused.value)
