"""The adapter contract, on the extended server."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from adapters.aws_ecs import AwsEcs
from autoscaler.model import TargetRef
from autoscaler.target import Adapter
from autoscaler.target.contract import AdapterContract, Harness, make_context
from tests.adapters.aws_ecs.conftest import Cloud, Connect
from tests.servers.aws.server import REGION
from tests.servers.ports import free_port

pytestmark = pytest.mark.slow


class EcsHarness(Harness):
    """One service on a server whose tasks take time to start and to stop."""

    target = TargetRef("test", "shop/contract")
    missing = TargetRef("test", "shop/contract-missing")
    unscalable = TargetRef("test", "shop/contract-daemon")

    def __init__(self, cloud: Cloud, folder: Path) -> None:
        self._cloud = cloud
        self._folder = folder
        self.adapter = self._build(cloud.server.url)

    def rebuild(self, *, dry_run: bool = False) -> Adapter:
        self.close()
        self.adapter = self._build(self._cloud.server.url, dry_run=dry_run)
        return self.adapter

    def set_size_outside(self, size: int) -> None:
        self._cloud.update("shop/contract", desiredCount=size)

    def unreachable(self) -> Adapter | str:
        return self._build(f"http://127.0.0.1:{free_port()}")

    def close(self) -> None:
        assert isinstance(self.adapter, AwsEcs)
        self.adapter.close()

    def _build(self, url: str, *, dry_run: bool = False) -> AwsEcs:
        settings = AwsEcs.Settings.model_validate({"region": REGION, "endpointUrl": url})
        return AwsEcs(make_context(settings, self._folder, dry_run=dry_run))


class TestAwsEcs(AdapterContract):
    @pytest.fixture
    def harness(self, cloud: Cloud, connect: Connect, tmp_path: Path) -> Iterator[EcsHarness]:
        cloud.world.launch_seconds = cloud.world.terminate_seconds = 0.2
        cloud.create("shop/contract")
        cloud.create("shop/contract-daemon", schedulingStrategy="DAEMON")
        harness = EcsHarness(cloud, tmp_path / "contract")
        yield harness
        harness.close()
