"""A group's own warm-up.

Sources: Auto Scaling API Reference, DefaultInstanceWarmup of CreateAutoScalingGroup and UpdateAutoScalingGroup; User
Guide, "Set the default instance warmup for an Auto Scaling group".
"""

from datetime import timedelta

import pytest

from autoscaler.decide import decide
from autoscaler.model import History, MetricType, Observation, Sightings, TargetRef, TargetType
from autoscaler.observe.readiness import Normaliser
from tests.adapters.aws_asg.conftest import Cloud, LiveAdapter
from tests.decide.build import metric, samples, scaler

pytestmark = pytest.mark.slow

LOAD = metric(MetricType.PODS, TargetType.AVERAGE_VALUE, 100)


def test_the_groups_warm_up_follows_its_updates(cloud: Cloud, connection: LiveAdapter) -> None:
    """0 is a warm-up without a duration, and -1 removes it."""
    cloud.create("web", DefaultInstanceWarmup=300)
    seen = [connection.state("web").warm_up]
    for seconds in (120, 0, 60, -1):
        cloud.autoscaling.update_auto_scaling_group(AutoScalingGroupName="web", DefaultInstanceWarmup=seconds)
        seen.append(connection.state("web").warm_up)
    assert seen == [timedelta(seconds=each) for each in (300, 120, 0, 60, 0)]


def test_an_instance_counts_when_its_warm_up_has_passed_since_it_was_in_service(
    cloud: Cloud, connection: LiveAdapter
) -> None:
    """Launching takes a minute, which is no part of the warm-up. The load of booting asks for nothing meanwhile."""
    cloud.create("web", 1, DefaultInstanceWarmup=120)
    cloud.world.advance(600)
    normalise = Normaliser()
    known: Sightings | None = None
    asked = []
    for second in range(0, 241, 30):
        if second == 30:
            cloud.world.launch_seconds = 60
            cloud.set("web", 2)
        now = connection.call().now
        found, known = normalise(TargetRef("test", "web"), connection.state("web"), known, now)
        load = samples({each.name: 100 if each.name == found.instances[0].name else 900 for each in found.instances})
        made = decide(scaler(LOAD), Observation(found, (load,)), History(), now)
        asked.append((second, len(made.metrics[0].aside), made.metrics[0].proposal))
        cloud.world.advance(30)
    assert asked[:2] == [(0, 0, 1), (30, 0, 2)]
    assert [each for each in asked if each[1]] == [(second, 1, 2) for second in (90, 120, 150, 180)]
    assert asked[-2:] == [(210, 0, 10), (240, 0, 10)]
