"""Our wall clock is set while AWS's goes on."""

import pytest

from autoscaler.model import Hold, Written
from tests.adapters.aws_asg.conftest import Cloud, Connect, LiveAdapter

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("step", [3600, -3600])
def test_a_size_just_written_is_believed_for_a_minute_of_time_gone_by(
    cloud: Cloud, connection: LiveAdapter, step: int
) -> None:
    """A size just written is believed for a minute, not for as long as the clocks differ, and not less."""
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
    """A day back would else hold growth for a day, a day forward ask for more at once."""
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
