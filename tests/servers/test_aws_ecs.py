"""The extension of moto's ECS does what AWS documents; the pages are cited where the rules stand."""

from collections.abc import Iterator
from typing import Any

import pytest
from botocore.exceptions import ClientError

from tests.servers.aws import AwsServer, running_aws

pytestmark = pytest.mark.slow
_ROLLBACK = {"deploymentCircuitBreaker": {"enable": True, "rollback": True}}


@pytest.fixture(scope="module")
def server() -> Iterator[AwsServer]:
    with running_aws() as running:
        yield running


@pytest.fixture
def cloud(server: AwsServer) -> Any:
    server.reset()
    server.world.advance(0)
    ecs = server.client("ecs")
    ecs.create_cluster(clusterName="shop")
    return ecs


def _define(cloud: Any) -> str:
    made = cloud.register_task_definition(
        family="worker",
        containerDefinitions=[{"name": "web", "image": "web:1", "memory": 128}],
        networkMode="awsvpc",
        requiresCompatibilities=["FARGATE"],
        cpu="256",
        memory="512",
    )
    return str(made["taskDefinition"]["taskDefinitionArn"])


def _create(cloud: Any, size: int = 1, **more: Any) -> None:
    cloud.create_service(
        cluster="shop",
        serviceName="web",
        taskDefinition=_define(cloud),
        desiredCount=size,
        launchType="FARGATE",
        **more,
    )


def _service(cloud: Any) -> dict[str, Any]:
    (found,) = cloud.describe_services(cluster="shop", services=["web"])["services"]
    return dict(found)


def _tasks(cloud: Any, desired: str = "RUNNING") -> list[dict[str, Any]]:
    arns = cloud.list_tasks(cluster="shop", serviceName="web", desiredStatus=desired)["taskArns"]
    return list(cloud.describe_tasks(cluster="shop", tasks=arns)["tasks"]) if arns else []


def test_tasks_take_time_to_start_and_to_stop(server: AwsServer, cloud: Any) -> None:
    server.world.launch_seconds, server.world.terminate_seconds = 30, 20
    _create(cloud)
    assert [one["lastStatus"] for one in _tasks(cloud)] == ["PROVISIONING"]
    assert (_service(cloud)["runningCount"], _service(cloud)["pendingCount"]) == (0, 1)
    server.world.advance(30)
    assert [one["lastStatus"] for one in _tasks(cloud)] == ["RUNNING"]
    cloud.update_service(cluster="shop", service="web", desiredCount=0)
    assert _tasks(cloud) == []
    assert [one["lastStatus"] for one in _tasks(cloud, "STOPPED")] == ["DEACTIVATING"]
    server.world.advance(20)
    assert _tasks(cloud, "STOPPED") == []


def test_a_new_count_is_no_deployment_and_a_new_definition_is_one(server: AwsServer, cloud: Any) -> None:
    _create(cloud)
    (first,) = _service(cloud)["deployments"]
    assert first["rolloutState"] == "COMPLETED"
    server.world.launch_seconds = 30
    cloud.update_service(cluster="shop", service="web", desiredCount=2)
    (same,) = _service(cloud)["deployments"]
    assert (same["id"], same["rolloutState"]) == (first["id"], "COMPLETED")
    server.world.advance(30)
    cloud.update_service(cluster="shop", service="web", taskDefinition=_define(cloud))
    new, old = _service(cloud)["deployments"]
    assert (new["status"], new["rolloutState"], old["status"]) == ("PRIMARY", "IN_PROGRESS", "ACTIVE")
    assert len(_tasks(cloud)) == 4
    server.world.advance(30)
    (last,) = _service(cloud)["deployments"]
    assert (last["id"], last["rolloutState"]) == (new["id"], "COMPLETED")
    assert len(_tasks(cloud)) == 2


def test_an_update_without_a_parameter_changes_nothing(cloud: Any) -> None:
    _create(cloud, 2)
    before = _service(cloud)
    cloud.update_service(cluster="shop", service="web")
    assert _service(cloud) == before


def test_the_circuit_breaker_rolls_back_after_three_failed_tasks(server: AwsServer, cloud: Any) -> None:
    _create(cloud, 2, deploymentConfiguration=_ROLLBACK)
    old = _service(cloud)["taskDefinition"]
    kept = {one["taskArn"] for one in _tasks(cloud)}
    server.world.launch_failure = "CannotPullContainerError"
    cloud.update_service(cluster="shop", service="web", taskDefinition=_define(cloud))
    for _ in range(3):
        server.world.advance(10)
        found = _service(cloud)
    assert found["taskDefinition"] == old
    assert {one["taskArn"] for one in _tasks(cloud)} == kept


def test_what_is_missing_is_a_failure_and_a_missing_cluster_an_error(cloud: Any) -> None:
    _create(cloud)
    found = cloud.describe_services(cluster="shop", services=["web", "absent"])
    assert [one["reason"] for one in found["failures"]] == ["MISSING"]
    with pytest.raises(ClientError, match="ClusterNotFoundException"):
        cloud.describe_services(cluster="absent", services=["web"])
    with pytest.raises(ClientError, match="ServiceNotFoundException"):
        cloud.update_service(cluster="shop", service="absent", desiredCount=1)


def test_a_request_takes_ten_services_and_a_hundred_tasks(cloud: Any) -> None:
    _create(cloud, 101)
    with pytest.raises(ClientError, match="10 elements"):
        cloud.describe_services(cluster="shop", services=[f"web-{number}" for number in range(11)])
    page = cloud.list_tasks(cluster="shop")
    assert len(page["taskArns"]) == 100
    rest = cloud.list_tasks(cluster="shop", nextToken=page["nextToken"])["taskArns"]
    with pytest.raises(ClientError, match="1 to 100"):
        cloud.describe_tasks(cluster="shop", tasks=[*page["taskArns"], *rest])


def test_tags_are_described_only_on_request(cloud: Any) -> None:
    _create(cloud, tags=[{"key": "team", "value": "shop"}])
    assert not _service(cloud).get("tags")
    (found,) = cloud.describe_services(cluster="shop", services=["web"], include=["TAGS"])["services"]
    assert found["tags"] == [{"key": "team", "value": "shop"}]
