"""Brakes with this adapter's states: on AWS, capacity runs out, zones fail and people set sizes by hand."""

import pytest

from autoscaler.decide import apply_outcome, decide, remember
from autoscaler.model import Decision, History, Observation, TargetRef
from autoscaler.rules.brakes import Brakes
from autoscaler.rules.brakes.common import Brake
from tests.adapters.aws_asg.conftest import Cloud, LiveAdapter
from tests.decide.build import value
from tests.replaced import replace
from tests.rules.braking import ALL, UNFULFILLED, active, braked, holding

pytestmark = pytest.mark.slow


class Autoscaled:
    """A group with an autoscaler that follows a queue at once, apart from its brakes, after its first cycle."""

    def __init__(self, cloud: Cloud, connection: LiveAdapter, brakes: Brakes, size: int = 10) -> None:
        cloud.create("web", size, most=100)
        self.cloud, self.connection, self.size = cloud, connection, size
        self.autoscaler = replace(braked(brakes), target=TargetRef("test", "web"))
        self.history = History()
        cloud.world.advance(600)
        self.cycle(size)

    def cycle(self, wanted: int, after: float = 15) -> Decision:
        """Run a cycle this many seconds later."""
        self.cloud.world.advance(after)
        seen, call = self.connection.state("web"), self.connection.call()
        made = decide(self.autoscaler, Observation(seen, (value(15_000 * wanted),)), self.history, call.now)
        if made.change is not None:
            made = apply_outcome(made, self.connection.adapter.scale(self.autoscaler.target, made.change, call))
        self.history = remember(self.autoscaler, self.history, made)
        return made


def test_instances_that_wait_for_a_hook_have_arrived(cloud: Cloud, connection: LiveAdapter) -> None:
    """Pending:Wait may last an hour. AWS had capacity, and a lifecycle hook configures the machine."""
    web = Autoscaled(cloud, connection, UNFULFILLED)
    cloud.hook("web", "setup", 3600, "LAUNCHING")
    assert web.cycle(20).written == 20
    for _ in range(4):
        assert active(web.cycle(20, after=300)) == []
    states = [one["LifecycleState"] for one in cloud.describe("web")["Instances"]]
    assert states.count("Pending:Wait") == 10
    assert web.cycle(24).written == 24


def test_a_region_without_capacity_is_not_asked_for_more(cloud: Cloud, connection: LiveAdapter) -> None:
    """The adapter's own hold applies first and lets one attempt at a time through; the brake lets none through."""
    web = Autoscaled(cloud, connection, UNFULFILLED)
    cloud.world.launch_failure = "no capacity"
    assert web.cycle(20).written == 20
    tried = [web.cycle(20 + 4 * extra, after=60).written for extra in range(1, 14)]
    assert any(tried)
    made = [web.cycle(90, after=60) for _ in range(8)]
    assert {each.change for each in made} == {None}
    assert active(made[-1]) == [Brake.UNFULFILLED]
    assert {holding(each)[-1] for each in made} == {"Unfulfilled"}
    cloud.world.launch_failure = None
    cloud.world.advance(60)
    assert [web.cycle(90, after=60).current for _ in range(4)][-1] == 90


def test_the_adapters_own_scale_in_is_no_loss_and_its_write_no_outside_change(
    cloud: Cloud, connection: LiveAdapter
) -> None:
    """This also holds when AWS shows the size late or the instances terminate slowly."""
    web = Autoscaled(cloud, connection, ALL)
    cloud.world.lag_seconds, cloud.world.terminate_seconds = 40, 90
    assert web.cycle(4).written == 4
    for _ in range(10):
        assert active(web.cycle(4)) == []
    assert cloud.desired("web") == 4
