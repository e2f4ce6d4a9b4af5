"""The checks of `make test-aws` pass for a service of the imitation of AWS."""

import pytest

from tests.adapters.aws.account import READS, WRITES, Service, check
from tests.adapters.aws_ecs.conftest import Cloud
from tests.servers.aws.server import REGION

pytestmark = pytest.mark.slow


def test_a_service_passes_the_checks_and_keeps_its_size(
    cloud: Cloud, own_environment: None, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("AWS_DEFAULT_REGION", REGION)
    monkeypatch.setenv("AWS_ENDPOINT_URL", cloud.server.url)
    cloud.world.launch_seconds = cloud.world.terminate_seconds = 0.2
    cloud.create("shop/web", 2)
    assert check(Service("shop/web"), write=True)
    assert capsys.readouterr().out.count("ok    shop/web: ") == len(READS) + len(WRITES)
    assert cloud.desired("shop/web") == 2
