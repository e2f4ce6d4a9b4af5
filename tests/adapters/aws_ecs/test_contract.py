"""The adapter contract, on the extended server."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from adapters.aws_ecs import AwsEcs
from autoscaler.model import TargetRef
from autoscaler.target.contract import AdapterContract
from tests.adapters.aws.connecting import AwsHarness
from tests.adapters.aws_ecs.conftest import Cloud, Connect

pytestmark = pytest.mark.slow


class EcsHarness(AwsHarness):
    """One service on a server whose tasks take time to start and to stop."""

    adapter_type = AwsEcs
    chooses_victims = True
    target = TargetRef("test", "shop/contract")
    missing = TargetRef("test", "shop/contract-missing")
    unscalable = TargetRef("test", "shop/contract-daemon")

    def __init__(self, cloud: Cloud, folder: Path) -> None:
        super().__init__(cloud.server.url, folder)
        self._cloud = cloud

    def set_size_outside(self, size: int) -> None:
        self._cloud.update("shop/contract", desiredCount=size)


class TestAwsEcs(AdapterContract):
    @pytest.fixture
    def harness(self, cloud: Cloud, connect: Connect, tmp_path: Path) -> Iterator[EcsHarness]:
        cloud.world.launch_seconds = cloud.world.terminate_seconds = 0.2
        cloud.create("shop/contract")
        cloud.create("shop/contract-daemon", schedulingStrategy="DAEMON")
        harness = EcsHarness(cloud, tmp_path / "contract")
        yield harness
        harness.close()
