"""A server with services, and connections to it."""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from adapters.aws_ecs import AwsEcs
from tests.adapters.aws.connecting import AwsLive, change, connections, own_environment, server, world
from tests.servers.aws import AwsServer
from tests.servers.aws.ecs_service import EcsService
from tests.servers.aws.server import IMAGE
from tests.servers.aws.world import World

__all__ = ["change", "own_environment", "server", "world"]

LiveAdapter: TypeAlias = AwsLive[AwsEcs]
Connect = Callable[..., LiveAdapter]
HEALTH_CHECK = {"command": ["CMD", "true"]}
BRIDGE: dict[str, Any] = {
    "networkMode": "bridge",
    "requiresCompatibilities": ["EC2"],
    "container": {"cpu": 256, "memory": 512},
}
"""Of a task definition whose tasks have ports of their container instance."""


@dataclass
class Cloud:
    """The server, and changes by other clients."""

    server: AwsServer
    ecs: Any

    @property
    def world(self) -> World:
        return self.server.world

    def define(self, family: str = "worker", **more: Any) -> str:
        """Return the ARN of a new task definition for Fargate with half a core and one container."""
        container = {"name": "web", "image": "web:1", "essential": True, **more.pop("container", {})}
        wanted = {
            "networkMode": "awsvpc",
            "requiresCompatibilities": ["FARGATE"],
            "cpu": "512",
            "memory": "1024",
            **more,
        }
        made = self.ecs.register_task_definition(family=family, containerDefinitions=[container], **wanted)
        return str(made["taskDefinition"]["taskDefinitionArn"])

    def create(self, name: str, size: int = 1, definition: str = "", **more: Any) -> EcsService:
        """Create a service CLUSTER/SERVICE, and its cluster."""
        cluster, _, service = name.partition("/")
        self.ecs.create_cluster(clusterName=cluster)
        self.ecs.create_service(
            cluster=cluster,
            serviceName=service,
            taskDefinition=definition or self.define(),
            desiredCount=size,
            **more,
        )
        return self.server.services()[name]

    def register_machine(self, cluster: str) -> str:
        """Register an EC2 instance as the cluster's container instance. Return its private address."""
        ec2 = self.server.client("ec2")
        (one,) = ec2.run_instances(ImageId=IMAGE, MinCount=1, MaxCount=1)["Instances"]
        document = json.dumps({"instanceId": one["InstanceId"]})
        self.ecs.create_cluster(clusterName=cluster)
        self.ecs.register_container_instance(cluster=cluster, instanceIdentityDocument=document)
        return str(one["PrivateIpAddress"])

    def update(self, name: str, **more: Any) -> None:
        cluster, _, service = name.partition("/")
        self.ecs.update_service(cluster=cluster, service=service, **more)

    def desired(self, name: str) -> int:
        return self.server.services()[name].desired


@pytest.fixture
def cloud(server: AwsServer) -> Cloud:
    """A region without services."""
    server.reset()
    return Cloud(server, server.client("ecs"))


@pytest.fixture
def connect(tmp_path: Path, world: World, own_environment: None) -> Iterator[Connect]:
    """Builds connections with these settings on one memory."""
    yield from connections(AwsEcs, tmp_path / "state", world)


@pytest.fixture
def connection(connect: Connect, cloud: Cloud) -> LiveAdapter:
    """A connection with default settings."""
    return connect(endpointUrl=cloud.server.url)
