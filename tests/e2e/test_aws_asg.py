"""A group of the extended server with a process for each instance. A real Prometheus scrapes its load."""

from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from tests.daemon.running import RunningDaemon, running_daemon
from tests.servers.aws import AwsServer, running_aws
from tests.servers.aws.server import REGION
from tests.servers.aws.workers import Workers
from tests.servers.aws.world import World
from tests.servers.files import replace_text
from tests.servers.prometheus import file_sd, running_prometheus

pytestmark = pytest.mark.slow

SHARE: Final = "demand / scalar(count(demand))"
"""Every worker exposes the whole demand, as a load balancer would divide it evenly."""
KEYS: Final = {"AWS_ACCESS_KEY_ID": "ours", "AWS_SECRET_ACCESS_KEY": "ours", "AWS_EC2_METADATA_DISABLED": "true"}
WEIGHTS: Final = [
    {"InstanceType": "m5.large", "WeightedCapacity": "1"},
    {"InstanceType": "m5.xlarge", "WeightedCapacity": "2"},
]


def configuration(prometheus: str, url: str) -> dict[str, Any]:
    target = {"type": "AverageValue", "averageValue": 10}
    metric = {"type": "Pods", "pods": {"metric": {"name": "demand"}, "query": {"expr": SHARE}, "target": target}}
    return {
        "controller": {"syncPeriod": "1s", "initialReadinessDelay": "0s"},
        "prometheus": {"default": {"url": prometheus}},
        "adapters": {"fleet": {"type": "aws-asg", "region": REGION, "endpointUrl": url}},
        "log": {"decisions": "all"},
        "autoscalers": [
            {
                "name": "shop",
                "scaleTargetRef": {"adapter": "fleet", "name": "shop"},
                "minReplicas": 1,
                "maxReplicas": 8,
                "metrics": [metric],
                "behavior": {
                    "scaleUp": {"policies": [{"type": "Pods", "value": 8, "periodSeconds": 15}]},
                    "scaleDown": {"stabilizationWindowSeconds": 5},
                },
            }
        ],
    }


class Shop:
    """The group, its workers, and the client that completes its lifecycle actions."""

    def __init__(self, server: AwsServer, workers: Workers) -> None:
        self.server = server
        self.workers = workers
        self._cloud = server.client("autoscaling")
        self.seen: set[str] = set()
        """Every LifecycleState of an instance so far."""

    def create(self, **more: Any) -> None:
        """Create a group of one, whose launches pass a hook."""
        self.server.create_launch_template()
        self._cloud.create_auto_scaling_group(
            AutoScalingGroupName="shop",
            MinSize=0,
            MaxSize=10,
            DesiredCapacity=1,
            AvailabilityZones=[f"{REGION}a"],
            **more,
        )
        self._cloud.put_lifecycle_hook(
            LifecycleHookName="warm-up",
            AutoScalingGroupName="shop",
            LifecycleTransition="autoscaling:EC2_INSTANCE_LAUNCHING",
        )

    def look(self) -> dict[str, Any]:
        found = self._cloud.describe_auto_scaling_groups(AutoScalingGroupNames=["shop"])["AutoScalingGroups"]
        self.seen |= {one["LifecycleState"] for one in found[0]["Instances"]}
        return dict(found[0])

    def tend(self, units: int) -> bool:
        """Complete the actions of waiting instances. Returns whether so many units are in service."""
        group = self.look()
        states = {one["InstanceId"]: one["LifecycleState"] for one in group["Instances"]}
        if "Pending" in self.seen:
            self.server.world.launch_seconds = 0
        for one, state in states.items():
            if state == "Pending:Wait":
                self._cloud.complete_lifecycle_action(
                    LifecycleHookName="warm-up",
                    AutoScalingGroupName="shop",
                    InstanceId=one,
                    LifecycleActionResult="CONTINUE",
                )
        serving = [one for one in group["Instances"] if one["LifecycleState"] == "InService"]
        return sum(int(one.get("WeightedCapacity", 1)) for one in serving) >= units

    def alone(self) -> bool:
        """Return whether only one instance and its process are left."""
        group = self.look()
        return group["DesiredCapacity"] == 1 and self.workers.running == {
            one["InstanceId"] for one in group["Instances"]
        }


@contextmanager
def open_shop(folder: Path, **group: Any) -> Iterator[tuple[Shop, RunningDaemon]]:
    """Run a shop with a demand of 5, and wait until its size fits."""
    with (
        closing(Workers(folder)) as workers,
        running_aws(World(on_launch=workers.launch, on_end=workers.end)) as server,
    ):
        replace_text(workers.demand, "5")
        shop = Shop(server, workers)
        shop.create(**group)
        with running_prometheus(folder, [file_sd("shop", workers.targets)]) as prometheus:
            prometheus.wait_for(SHARE)
            config = folder / "autoscaler.yaml"
            config.write_text(yaml.safe_dump(configuration(prometheus.url, server.url)))
            with running_daemon(config, env=KEYS) as daemon:
                daemon.wait_for("decision", current=1, desired=1, reason="ReadyForNewScale")
                yield shop, daemon


def _sizes(daemon: RunningDaemon) -> list[int]:
    return [line["written"] for line in daemon.events("decision") if line["written"] is not None]


def test_a_weighted_group_under_load_goes_from_one_unit_to_five_and_back(tmp_path: Path) -> None:
    """A demand of 45 at 10 a unit needs 5 units: with instances of 1 and 2, at most three beside the first.

    The launches go through Pending and a hook. Samples are joined by the instance's id.
    """
    specification = {"LaunchTemplateSpecification": {"LaunchTemplateName": "worker"}, "Overrides": WEIGHTS}
    with open_shop(tmp_path, MixedInstancesPolicy={"LaunchTemplate": specification}) as (shop, daemon):
        (first,) = shop.workers.running
        shop.server.world.launch_seconds = 3600  # until Pending has been seen
        replace_text(shop.workers.demand, "45")
        daemon.wait_for("decision", current=1, desired=5, written=5)
        daemon.until(lambda: shop.tend(5), "five units in service")
        running = {one["InstanceId"]: int(one["WeightedCapacity"]) for one in shop.look()["Instances"]}
        assert len(running) < sum(running.values())
        assert first in running
        assert {"Pending", "Pending:Wait", "InService"} <= shop.seen
        steady = daemon.wait_for("decision", current=5, desired=5, written=None, reason="ReadyForNewScale")
        assert steady["metrics"][0]["target"] == "10"
        replace_text(shop.workers.demand, "5")
        daemon.until(shop.alone, "scale-in")
        assert daemon.stop() == 0
        assert _sizes(daemon)[0] == 5
        assert _sizes(daemon)[-1] == 1
