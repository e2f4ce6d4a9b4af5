"""Instances that are protected from scale-in, when AWS chooses which instances leave.

Source: Amazon EC2 Auto Scaling User Guide, "Use instance scale-in protection to control instance termination".
"""

import pytest

from autoscaler.model import Held, Hold, Written
from tests.adapters.aws_asg.conftest import Cloud, LiveAdapter, mixed

pytestmark = pytest.mark.slow


def test_a_group_whose_instances_are_all_protected_holds_scale_in(cloud: Cloud, connection: LiveAdapter) -> None:
    """AWS would lower the desired capacity and end nothing: a change of size that never comes to pass."""
    cloud.create("kept", 2)
    ids = cloud.ids("kept")
    cloud.protect("kept", ids)
    hold = connection.state("kept").hold
    assert hold.scale_out is None
    assert hold.scale_in is not None
    assert hold.scale_in.reason == "AllProtected"
    assert "all instances of group kept are protected from scale-in" in hold.scale_in.message
    cloud.protect("kept", ids[:1], on=False)
    assert connection.state("kept").hold == Hold()


def test_a_scale_in_ends_at_the_protected_instances(cloud: Cloud, connection: LiveAdapter) -> None:
    """The desired capacity stays what AWS can reach, and the next cycle is held."""
    cloud.create("part", 4)
    cloud.protect("part", cloud.ids("part")[:3])
    assert connection.scale("part", connection.state("part"), 1) == Written(3)
    after = connection.state("part")
    assert (after.replicas, after.status_replicas) == (3, 3)
    assert after.hold.scale_in is not None


def test_protection_since_the_observation_holds_the_write(cloud: Cloud, connection: LiveAdapter) -> None:
    """A worker may protect itself for a long job between the observation and the write."""
    cloud.create("busy", 2)
    state = connection.state("busy")
    cloud.protect("busy", cloud.ids("busy"))
    outcome = connection.scale("busy", state, 1)
    assert isinstance(outcome, Held)
    assert outcome.hold.reason == "AllProtected"
    assert cloud.desired("busy") == 2


def test_an_instance_that_starts_is_not_protected_yet(cloud: Cloud, connection: LiveAdapter) -> None:
    """Protection begins in service, so a group that launches can still shrink."""
    cloud.create("young", 1, NewInstancesProtectedFromScaleIn=True)
    cloud.world.launch_seconds = 60
    cloud.set("young", 2)
    assert connection.state("young").hold == Hold()


def test_protected_instances_count_in_units(cloud: Cloud, connection: LiveAdapter) -> None:
    """A protected machine of four units keeps four of the desired capacity."""
    policy = mixed(
        {"InstanceType": "m5.large", "WeightedCapacity": "1"}, {"InstanceType": "m5.2xlarge", "WeightedCapacity": "4"}
    )
    cloud.create("heavy", 5, MixedInstancesPolicy=policy)
    state = connection.state("heavy")
    cloud.protect("heavy", [one.name for one in state.instances if one.weight == 4])
    assert connection.scale("heavy", state, 2) == Written(4)
