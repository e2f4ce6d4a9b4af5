"""One entry of an answer lacks what AWS documents. It costs its own service alone, in each list of many."""

from typing import Any

import pytest

from autoscaler.model import TargetState
from autoscaler.target import TargetError
from tests.adapters.aws.connecting import Change, ChangeAnswer
from tests.adapters.aws_ecs.conftest import BRIDGE, Cloud, LiveAdapter

pytestmark = pytest.mark.slow
_MANY = [f"shop/many-{number}" for number in range(10)]
"""With these, all tasks of the cluster are listed and described together."""


@pytest.fixture
def found(cloud: Cloud, connection: LiveAdapter, change: ChangeAnswer) -> Any:
    """Return a function that observes the services `shop/odd` and `shop/well` while an answer is changed."""

    def observe(operation: str, spoil: Change, **more: Any) -> dict[str, TargetState | TargetError]:
        for name in ("shop/odd", "shop/well", *_MANY):
            definition = cloud.define(name.rpartition("/")[2], **more)
            cloud.create(name, 0 if name in _MANY else 1, definition)
        change(operation, spoil)
        return connection.observe("shop/odd", "shop/well", *_MANY)

    return observe


def _only_the_odd_one_failed(found: dict[str, TargetState | TargetError]) -> None:
    assert [name for name, state in found.items() if isinstance(state, TargetError)] == ["shop/odd"]


def _is_odd(task: Any) -> bool:
    return bool(task["group"] == "service:odd")


@pytest.mark.parametrize("key", ["serviceName", "status", "desiredCount", "deployments"])
def test_an_odd_service_fails_alone(found: Any, key: str) -> None:
    """Ten services are described in one answer."""

    def spoil(answer: Any) -> None:
        for one in answer["services"]:
            if one.get("serviceName") == "odd":
                one.pop(key)

    _only_the_odd_one_failed(found("describe_services", spoil))


@pytest.mark.parametrize("key", ["taskArn", "lastStatus", "desiredStatus"])
def test_an_odd_task_fails_its_service_alone(found: Any, key: str) -> None:
    """A hundred tasks of a cluster are described in one answer."""
    _only_the_odd_one_failed(
        found("describe_tasks", lambda answer: [one.pop(key) for one in answer["tasks"] if _is_odd(one)])
    )


def test_an_odd_field_of_a_task_fails_its_service_alone(found: Any) -> None:
    """A number that is none."""
    _only_the_odd_one_failed(
        found("describe_tasks", lambda answer: [one.update(cpu="half") for one in answer["tasks"] if _is_odd(one)])
    )


def test_an_odd_scalable_target_hides_no_other(cloud: Cloud, connection: LiveAdapter, change: ChangeAnswer) -> None:
    """The list is of the whole account."""
    registry = cloud.server.client("application-autoscaling")
    for name in ("shop/odd", "shop/well"):
        cloud.create(name, 1)
        registry.register_scalable_target(
            ServiceNamespace="ecs",
            ResourceId=f"service/{name}",
            ScalableDimension="ecs:service:DesiredCount",
            MinCapacity=1,
            MaxCapacity=2,
        )

    def spoil(answer: Any) -> None:
        for one in answer["ScalableTargets"]:
            if one["ResourceId"] == "service/shop/odd":
                one.update(ResourceId=None)

    change("describe_scalable_targets", spoil)
    connection.state("shop/well")
    assert "Application Auto Scaling" in " ".join(connection.state("shop/well").warnings)


def test_an_odd_container_instance_fails_only_the_services_on_it(
    cloud: Cloud, connection: LiveAdapter, change: ChangeAnswer
) -> None:
    """A hundred container instances are described in one answer."""
    for cluster in ("shop", "other"):
        cloud.create(f"{cluster}/web", 0, cloud.define("web", **BRIDGE))
        cloud.register_machine(cluster)
    odd = cloud.server.client("ecs").list_container_instances(cluster="shop")["containerInstanceArns"]

    def spoil(answer: Any) -> None:
        for one in answer["containerInstances"]:
            if one["containerInstanceArn"] in odd:
                one.pop("ec2InstanceId")

    change("describe_container_instances", spoil)
    hosts = connection.adapter._tasks._hosts
    ours = cloud.server.client("ecs").list_container_instances(cluster="other")["containerInstanceArns"]
    assert hosts.learn("shop", odd, connection.call()).keys() == set(odd)
    assert hosts.learn("other", ours, connection.call()) == {}
    assert hosts.addresses(ours[0])
