"""Writes: what another client does meanwhile, reads that lag, answers that are lost, errors."""

import pytest

from autoscaler.errors import TargetForbidden, TargetNotWritten, TargetRefused
from autoscaler.model import Unchanged, Written
from tests.adapters.aws_ecs.conftest import Cloud, Connect, LiveAdapter

pytestmark = pytest.mark.slow


def test_only_the_desired_count_is_sent(cloud: Cloud, connection: LiveAdapter) -> None:
    """Any other parameter might start a deployment."""
    cloud.create("shop/web", 1)
    assert connection.scale("shop/web", connection.state("shop/web"), 3) == Written(3)
    (write,) = [one for one in cloud.server.requests if one.action == "ecs:UpdateService" and one.access_key == "ours"]
    assert write.parameters == {"cluster": "shop", "service": "web", "desiredCount": 3}


def test_a_read_that_lags_does_not_hide_the_size_just_written(cloud: Cloud, connect: Connect) -> None:
    """A restart does not forget it either: the next decision would repeat a scale-out."""
    cloud.world.steered = cloud.world.now
    cloud.create("shop/web", 2)
    cloud.world.advance(3600)
    connection = connect(endpointUrl=cloud.server.url)
    seen = connection.state("shop/web")
    cloud.world.lag_seconds = 30
    assert connection.scale("shop/web", seen, 5) == Written(5)
    assert connection.state("shop/web").replicas == 5
    again = connect(endpointUrl=cloud.server.url)
    assert again.state("shop/web").replicas == 5
    assert again.scale("shop/web", again.state("shop/web"), 5) == Unchanged()


@pytest.mark.parametrize(
    ("code", "status", "error"),
    [
        ("ThrottlingException", 400, TargetNotWritten),
        ("AccessDeniedException", 400, TargetForbidden),
        ("InvalidParameterException", 400, TargetRefused),
        ("ServiceNotActiveException", 400, TargetRefused),
    ],
)
def test_an_error_of_a_write_is_what_it_is(
    cloud: Cloud, connection: LiveAdapter, code: str, status: int, error: type[Exception]
) -> None:
    """Nothing was written in any of these cases."""
    cloud.create("shop/web", 2)
    seen = connection.state("shop/web")
    cloud.server.refuse("ecs:UpdateService", code, status=status)
    found = connection.scale("shop/web", seen, 3, seconds=6)
    assert isinstance(found, error)
    assert "nothing was changed" in str(found)
