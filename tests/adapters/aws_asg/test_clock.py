"""The daemon's wall clock is set while AWS's clock is not."""

import pytest

from autoscaler.model import Hold, Written
from tests.adapters.aws_asg.conftest import Cloud, Connect, LiveAdapter

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("step", [3600, -3600])
def test_a_size_just_written_is_believed_for_a_minute_of_time_gone_by(
    cloud: Cloud, connection: LiveAdapter, step: int
) -> None:
    """A written size is kept for a minute, whatever the difference between the clocks."""
    cloud.create("set", 1)
    state = connection.state("set")
    cloud.world.lag_seconds = 1000
    assert connection.scale("set", state, 3) == Written(3)
    connection.set_clock(step)
    assert connection.state("set").replicas == 3
    cloud.world.advance(61)
    assert connection.state("set").replicas == 1


@pytest.mark.parametrize("step", [86_400, -86_400])
def test_a_clock_that_is_set_neither_ends_the_wait_nor_prolongs_it(cloud: Cloud, connect: Connect, step: int) -> None:
    """A clock set back a day must not hold growth for a day; one set forward must not repeat a scale-out."""
    connection = connect(endpointUrl=cloud.server.url, circuitBreaker={"failures": 2, "retryAfter": "1m"})
    cloud.create("set", 1)
    cloud.world.advance(10)
    cloud.world.launch_failure = "no capacity"
    cloud.set("set", 2)
    connection.state("set")
    cloud.world.advance(20)
    assert connection.state("set").hold.scale_out is not None
    connection.set_clock(step)
    assert connection.state("set").hold.scale_out is not None
    cloud.world.advance(60)
    assert connection.state("set").hold == Hold()
