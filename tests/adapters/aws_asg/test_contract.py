"""The adapter contract, on the extended server."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from adapters.aws_asg import AwsAsg
from autoscaler.model import TargetRef
from autoscaler.target import Adapter
from autoscaler.target.contract import AdapterContract, Harness, make_context
from tests.adapters.aws_asg.conftest import Cloud, Connect
from tests.servers.aws.server import REGION
from tests.servers.ports import free_port

pytestmark = pytest.mark.slow


class AwsHarness(Harness):
    """One group on a server whose instances take time to start and to terminate."""

    target = TargetRef("test", "contract")
    missing = TargetRef("test", "contract-missing")
    unscalable = TargetRef("test", "contract-deleted")
    chooses_victims = True

    def __init__(self, cloud: Cloud, folder: Path) -> None:
        self._cloud = cloud
        self._folder = folder
        self.adapter = self._build(cloud.server.url)

    def rebuild(self, *, dry_run: bool = False) -> Adapter:
        self.close()
        self.adapter = self._build(self._cloud.server.url, dry_run=dry_run)
        return self.adapter

    def set_size_outside(self, size: int) -> None:
        self._cloud.set("contract", size)

    def unreachable(self) -> Adapter | str:
        return self._build(f"http://127.0.0.1:{free_port()}")

    def close(self) -> None:
        assert isinstance(self.adapter, AwsAsg)
        self.adapter.close()

    def _build(self, url: str, *, dry_run: bool = False) -> AwsAsg:
        settings = AwsAsg.Settings.model_validate({"region": REGION, "endpointUrl": url})
        return AwsAsg(make_context(settings, self._folder, dry_run=dry_run))


class TestAwsAsg(AdapterContract):
    @pytest.fixture
    def harness(self, cloud: Cloud, connect: Connect, tmp_path: Path) -> Iterator[AwsHarness]:
        cloud.world.launch_seconds = cloud.world.terminate_seconds = 0.2
        cloud.create("contract")
        cloud.create("contract-deleted")
        cloud.server.groups()["contract-deleted"].status = "Delete in progress"
        harness = AwsHarness(cloud, tmp_path / "contract")
        yield harness
        harness.close()
