"""A scale-in of AWS instances that are nodes of a real Nomad. The group waits until their allocations have moved.

The extended AWS server ends an instance when it is released. Its node is then powered off.
"""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import pytest

from tests.daemon.running import autoscaler, external, running_daemon, write_config
from tests.servers.aws import AwsServer, running_aws
from tests.servers.aws.server import REGION
from tests.servers.aws.world import World
from tests.servers.exporter import Exporter, running_exporter
from tests.servers.nomad import NomadServer, running_nomad
from tests.servers.nomad_nodes import FAST_HEARTBEATS, Node, running_node
from tests.servers.nomad_web import balanced, web_job
from tests.servers.prometheus import PrometheusServer, running_prometheus, static

pytestmark = pytest.mark.slow

KEYS: Final = {"AWS_ACCESS_KEY_ID": "ours", "AWS_SECRET_ACCESS_KEY": "ours", "AWS_EC2_METADATA_DISABLED": "true"}
LEAVING_SECONDS: Final = 20


@dataclass(slots=True)
class Fleet:
    """A group of two instances, each a node that runs one allocation of the job `shop`."""

    aws: AwsServer
    nomad: NomadServer
    nodes: dict[str, Node] = field(default_factory=dict)
    """By instance."""
    ended: dict[str, list[str]] = field(default_factory=dict)
    """Instance that AWS has ended -> allocations that still ran on its node."""

    def end(self, instance: str) -> None:
        node = self.nodes[instance]
        self.ended[instance] = node.running("shop")
        node.power_off()

    def states(self) -> dict[str, str]:
        """Return instance -> LifecycleState."""
        (group,) = self.aws.client("autoscaling").describe_auto_scaling_groups()["AutoScalingGroups"]
        return {one["InstanceId"]: one["LifecycleState"] for one in group["Instances"]}

    def addresses(self) -> dict[str, str]:
        """Return instance -> private address."""
        found = self.aws.client("ec2").describe_instances(InstanceIds=list(self.states()))["Reservations"]
        return {one["InstanceId"]: one["PrivateIpAddress"] for each in found for one in each["Instances"]}


@contextmanager
def running_fleet(folder: Path) -> Iterator[Fleet]:
    with ExitStack() as stack:
        world = World()
        aws = stack.enter_context(running_aws(world))
        aws.create_launch_template()
        (folder / "nomad").mkdir()
        nomad = stack.enter_context(running_nomad(folder / "nomad", further=FAST_HEARTBEATS))
        fleet = Fleet(aws, nomad)
        world.on_end = fleet.end
        aws.create_group("fleet", 2, most=2)
        aws.create_hook("fleet", "leave", 60)
        for instance, address in fleet.addresses().items():
            fleet.nodes[instance] = stack.enter_context(running_node(nomad, folder / instance, instance, address))
        nomad.register(web_job(folder, "shop", count=2, leaving_seconds=LEAVING_SECONDS))
        yield fleet


def configuration(folder: Path, prometheus: PrometheusServer, fleet: Fleet) -> Path:
    """Return a configuration with an instance for each ten of the demand."""
    drain = {"timeout": "5m", "nomad": {"adapter": "nomad", "deadline": "4m"}}
    behavior = {"scaleDown": {"stabilizationWindowSeconds": 0}}
    scaler = autoscaler("fleet", "demand", "aws", syncPeriod="4s", drain=drain, behavior=behavior)
    adapters: dict[str, Any] = {
        "aws": {"type": "aws-asg", "region": REGION, "endpointUrl": fleet.aws.url},
        "nomad": {"type": "nomad", "address": fleet.nomad.url},
    }
    return write_config(folder, prometheus.url, [scaler | {"metrics": [external("demand", 10)]}], adapters)


@contextmanager
def demand(folder: Path, value: float) -> Iterator[tuple[Exporter, PrometheusServer]]:
    """Run a real Prometheus with the demand of the group."""
    with running_exporter({"demand": value}) as exporter:
        scrape = static("demand", exporter.address)
        with running_prometheus(folder, [scrape]) as prometheus:
            prometheus.wait_for("demand")
            yield exporter, prometheus


def test_the_next_daemon_finishes_the_drain_of_a_killed_one_and_no_request_is_lost(tmp_path: Path) -> None:
    """The group is scaled in. Allocations take 20 s to move. Meanwhile the daemon is killed with SIGKILL."""
    with running_fleet(tmp_path) as fleet, demand(tmp_path, 20) as (exporter, prometheus):
        config = configuration(tmp_path, prometheus, fleet)
        with balanced(fleet.nomad, "shop", 2) as balancer:
            with running_daemon(config, env=KEYS) as daemon:
                daemon.wait_for("decision", current=2, desired=2)
                exporter.values["demand"] = 5
                daemon.wait_for("decision", written=1)
                (leaving,) = (one for one, state in fleet.states().items() if state == "Terminating:Wait")
                node = fleet.nodes[leaving]
                daemon.until(lambda: _told_to_leave(node), "allocation that leaves")
            drain = node.read()["DrainStrategy"]
            assert fleet.states()[leaving] == "Terminating:Wait"
            assert fleet.ended == {}
            with running_daemon(config, env=KEYS) as daemon:
                daemon.wait_for("decision", current=1, desired=1)
                assert node.read()["DrainStrategy"] in (drain, None)  # not begun again, and without another deadline
                daemon.until(lambda: leaving in fleet.ended, "end of the instance")
                daemon.wait_for("drain_ended", instance=leaving, outcome="done")
                assert daemon.stop() == 0
            (staying,) = fleet.states()
            fleet.nomad.wait(lambda: len(balancer.ports) == 2, "replacement that answers")
            assert len(fleet.nodes[staying].running("shop")) == 2
    assert fleet.ended == {leaving: []}
    assert balancer.lost == []
    assert len(balancer.served) == 3


def _told_to_leave(node: Node) -> bool:
    return [one["DesiredStatus"] for one in node.allocations()] == ["stop"]
