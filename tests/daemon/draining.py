"""A group of the extended AWS server.

A daemon drains its instances by a command that succeeds when a test allows it.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from tests.daemon.running import autoscaler, write_config
from tests.servers.aws import AwsServer
from tests.servers.aws.server import REGION

KEYS: Final = {"AWS_ACCESS_KEY_ID": "ours", "AWS_SECRET_ACCESS_KEY": "ours", "AWS_EC2_METADATA_DISABLED": "true"}
NOWHERE: Final = "http://127.0.0.1:9"
"""A configuration without a Prometheus: a size above maxReplicas is reduced to it without any metric."""


@dataclass
class DrainedGroup:
    """The group `web` of two, with a terminating hook. The command of its drain succeeds once `allow` was called."""

    server: AwsServer
    folder: Path

    def create(self, size: int = 2) -> None:
        self.server.create_launch_template()
        self.server.create_group("web", size)
        self.server.create_hook("web", "leave", 600)

    def allow(self, instance: str = "") -> None:
        """Let the drains of this instance, or of all instances, succeed."""
        (self.folder / f"allowed{instance}").touch()

    @property
    def attempts(self) -> list[str]:
        """Return the instance of each attempt so far."""
        file = self.folder / "attempts"
        return file.read_text().split() if file.exists() else []

    @property
    def states(self) -> Mapping[str, str]:
        """Return instance -> LifecycleState."""
        found = self.server.client("autoscaling").describe_auto_scaling_groups(AutoScalingGroupNames=["web"])
        return {one["InstanceId"]: one["LifecycleState"] for one in found["AutoScalingGroups"][0]["Instances"]}

    @property
    def waiting(self) -> list[str]:
        return [one for one, state in self.states.items() if state == "Terminating:Wait"]

    def drain(self, **more: Any) -> dict[str, Any]:
        """Return the section `drain`. The command fails until it may succeed."""
        told = f'echo "$AUTOSCALER_INSTANCE" >> {self.folder}/attempts'
        may = f'test -e {self.folder}/allowed || test -e "{self.folder}/allowed$AUTOSCALER_INSTANCE"'
        return {"command": ["/bin/sh", "-c", f"{told}; until {may}; do sleep 0.1; done"], **more}

    @property
    def adapters(self) -> dict[str, Any]:
        return {"fleet": {"type": "aws-asg", "region": REGION, "endpointUrl": self.server.url}}

    def configure(self, maximum: int, **drain: Any) -> Path:
        """Write the daemon's configuration with this maxReplicas. `drain`: None: the section above."""
        more = {"maxReplicas": maximum, "syncPeriod": "4s", "drain": self.drain(**drain)}  # boto3 may be slow to load
        return write_config(self.folder, NOWHERE, [autoscaler("web", "vector(9)", "fleet", **more)], self.adapters)
