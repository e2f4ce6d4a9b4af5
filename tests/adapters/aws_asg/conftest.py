"""A server with groups, and connections to it."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from adapters.aws_asg import AwsAsg
from tests.adapters.aws.connecting import KEYS, AwsLive, change, connections, own_environment, server, world
from tests.servers.aws import AwsServer
from tests.servers.aws.world import World

__all__ = ["KEYS", "change", "own_environment", "server", "world"]

LiveAdapter: TypeAlias = AwsLive[AwsAsg]
Connect = Callable[..., LiveAdapter]


@dataclass
class Cloud:
    """The server, and changes by other clients."""

    server: AwsServer
    autoscaling: Any

    @property
    def world(self) -> World:
        return self.server.world

    def create(self, name: str, size: int = 1, least: int = 0, most: int = 10, **more: Any) -> None:
        self.server.create_group(name, size, least, most, **more)

    def set(self, name: str, size: int) -> None:
        self.autoscaling.set_desired_capacity(AutoScalingGroupName=name, DesiredCapacity=size)

    def describe(self, name: str) -> dict[str, Any]:
        found: list[dict[str, Any]] = self.autoscaling.describe_auto_scaling_groups(AutoScalingGroupNames=[name])[
            "AutoScalingGroups"
        ]
        return found[0]

    def desired(self, name: str) -> int:
        return int(self.describe(name)["DesiredCapacity"])

    def hook(self, group: str, name: str, heartbeat_seconds: int = 60, transition: str = "TERMINATING") -> None:
        self.server.create_hook(group, name, heartbeat_seconds, transition)

    def add_policy(self, group: str, name: str, **kind: Any) -> None:
        """Add a scaling policy, a simple one by default."""
        kind = kind or {"AdjustmentType": "ChangeInCapacity", "ScalingAdjustment": 1}
        self.autoscaling.put_scaling_policy(AutoScalingGroupName=group, PolicyName=name, **kind)

    def add_forecast(self, group: str, name: str, mode: str) -> None:
        """Add a policy of predictive scaling in this mode."""
        metric = {"PredefinedMetricType": "ASGCPUUtilization"}
        specification = {"TargetValue": 50, "PredefinedMetricPairSpecification": metric}
        configuration = {"MetricSpecifications": [specification], "Mode": mode}
        self.add_policy(group, name, PolicyType="PredictiveScaling", PredictiveScalingConfiguration=configuration)

    def add_schedule(self, group: str, name: str) -> None:
        """Add a scheduled action for each night."""
        self.autoscaling.put_scheduled_update_group_action(
            AutoScalingGroupName=group, ScheduledActionName=name, Recurrence="0 22 * * *", DesiredCapacity=1
        )

    def protect(self, group: str, ids: Sequence[str], *, on: bool = True) -> None:
        """Protect instances from scale-in, or no longer."""
        self.autoscaling.set_instance_protection(AutoScalingGroupName=group, InstanceIds=ids, ProtectedFromScaleIn=on)

    def ids(self, name: str) -> list[str]:
        return [one["InstanceId"] for one in self.describe(name)["Instances"]]


def mixed(*overrides: dict[str, Any]) -> dict[str, Any]:
    """Return a MixedInstancesPolicy with these overrides."""
    template = {"LaunchTemplateSpecification": {"LaunchTemplateName": "worker"}, "Overrides": list(overrides)}
    return {"LaunchTemplate": template}


@pytest.fixture
def cloud(server: AwsServer) -> Cloud:
    """A region without groups."""
    server.reset()
    return Cloud(server, server.client("autoscaling"))


@pytest.fixture
def connect(tmp_path: Path, world: World, own_environment: None) -> Iterator[Connect]:
    """Builds connections with these settings on one memory."""
    yield from connections(AwsAsg, tmp_path / "state", world)


@pytest.fixture
def connection(connect: Connect, cloud: Cloud) -> LiveAdapter:
    """A connection with default settings."""
    return connect(endpointUrl=cloud.server.url)
