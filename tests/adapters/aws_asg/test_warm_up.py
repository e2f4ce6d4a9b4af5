"""A group's own warm-up. What is made of it is a rule of the daemon's.

Source: Auto Scaling API Reference, DefaultInstanceWarmup of CreateAutoScalingGroup and UpdateAutoScalingGroup.
"""

from datetime import timedelta

import pytest

from tests.adapters.aws_asg.conftest import Cloud, LiveAdapter

pytestmark = pytest.mark.slow


def test_the_groups_warm_up_follows_its_updates(cloud: Cloud, connection: LiveAdapter) -> None:
    """0 is a warm-up without a duration, and -1 removes it."""
    cloud.create("web", DefaultInstanceWarmup=300)
    seen = [connection.state("web").warm_up]
    for seconds in (120, 0, 60, -1):
        cloud.autoscaling.update_auto_scaling_group(AutoScalingGroupName="web", DefaultInstanceWarmup=seconds)
        seen.append(connection.state("web").warm_up)
    assert seen == [timedelta(seconds=each) for each in (300, 120, 0, 60, 0)]
