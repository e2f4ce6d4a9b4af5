"""The adapter contract, on the extended server."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from adapters.aws_asg import AwsAsg
from autoscaler.model import TargetRef
from autoscaler.target.contract import AdapterContract
from tests.adapters.aws.connecting import AwsHarness
from tests.adapters.aws_asg.conftest import Cloud, Connect

pytestmark = pytest.mark.slow


class AsgHarness(AwsHarness):
    """One group on a server whose instances take time to start and to terminate."""

    adapter_type = AwsAsg
    target = TargetRef("test", "contract")
    missing = TargetRef("test", "contract-missing")
    unscalable = TargetRef("test", "contract-deleted")
    chooses_victims = True

    def __init__(self, cloud: Cloud, folder: Path) -> None:
        super().__init__(cloud.server.url, folder)
        self._cloud = cloud

    def set_size_outside(self, size: int) -> None:
        self._cloud.set("contract", size)

    @contextmanager
    def hold(self) -> Iterator[None]:
        group = {"AutoScalingGroupName": "contract", "ScalingProcesses": ["Launch", "Terminate"]}
        self._cloud.autoscaling.suspend_processes(**group)
        yield
        self._cloud.autoscaling.resume_processes(**group)


class TestAwsAsg(AdapterContract):
    @pytest.fixture
    def harness(self, cloud: Cloud, connect: Connect, tmp_path: Path) -> Iterator[AsgHarness]:
        cloud.world.launch_seconds = cloud.world.terminate_seconds = 0.2
        cloud.create("contract")
        cloud.create("contract-deleted")
        cloud.server.groups()["contract-deleted"].status = "Delete in progress"
        harness = AsgHarness(cloud, tmp_path / "contract")
        yield harness
        harness.close()
