"""The least policy, and the write test on a server that allows actions as IAM does: before it looks at a parameter."""

import pytest

from autoscaler.errors import TargetForbidden
from autoscaler.model import Written
from tests.adapters.aws.connecting import least_policy
from tests.adapters.aws_ecs.conftest import BRIDGE, Cloud, LiveAdapter
from tests.servers.aws.ecs_service import EcsService
from tests.servers.aws.server import REGION

pytestmark = pytest.mark.slow
_LEAST_POLICY = least_policy("aws-ecs.md")
_OF_VICTIMS = {"ecs:GetTaskProtection", "ecs:UpdateTaskProtection"}


@pytest.fixture(autouse=True)
def service(cloud: Cloud) -> EcsService:
    """A service of two tasks on ports of a container instance: all actions are needed."""
    cloud.register_machine("metal")
    return cloud.create("metal/web", 2, cloud.define(**BRIDGE))


def test_nothing_outside_the_documented_policy_is_called(cloud: Cloud, connection: LiveAdapter) -> None:
    """Every permission of the policy is needed: a least-privilege policy has no other."""
    assert connection.scale("metal/web", connection.state("metal/web"), 3) == Written(3)
    seen = connection.state("metal/web")
    assert connection.scale("metal/web", seen, 2, victims=tuple(one.name for one in seen.instances)) == Written(2)
    called = {one.action for one in cloud.server.requests if one.access_key != "somebody"}
    assert called == _LEAST_POLICY


def test_the_least_policy_passes(cloud: Cloud, connection: LiveAdapter, service: EcsService) -> None:
    """The service keeps its size, its tasks and its deployment."""
    cloud.server.allowed = frozenset(_LEAST_POLICY)
    before = service.described(tags=True), [task.id for task in service.tasks]
    answer = str(connection.try_write("metal/web"))
    assert answer.startswith("permitted: AWS accepted an update that changes nothing; not tested: ")
    assert all(action in answer for action in _OF_VICTIMS)
    assert (service.described(tags=True), [task.id for task in service.tasks]) == before


@pytest.mark.parametrize("action", sorted(_LEAST_POLICY - _OF_VICTIMS))
def test_each_action_that_the_policy_lacks_is_named(cloud: Cloud, connection: LiveAdapter, action: str) -> None:
    """AWS's own messages do not always name it. `check` observes before it tries a write."""
    cloud.server.allowed = frozenset(_LEAST_POLICY - {action})
    assert f"AWS {REGION}, {action}: " in f"{connection.look('metal/web')}, {connection.try_write('metal/web')}"


def test_both_missing_actions_of_the_write_test_are_named_at_once(cloud: Cloud, connection: LiveAdapter) -> None:
    """The policy is corrected in one step."""
    cloud.server.allowed = frozenset({"ecs:DescribeServices"})
    refused = connection.try_write("metal/web")
    assert isinstance(refused, TargetForbidden)
    for action in ("ecs:UpdateService", "application-autoscaling:DescribeScalableTargets"):
        assert action in str(refused)
