"""Groups whose size counts units, not instances."""

import pytest

from autoscaler.errors import TargetNotScalable
from autoscaler.model import TargetState, Written
from tests.adapters.aws_asg.conftest import Cloud, LiveAdapter, mixed

pytestmark = pytest.mark.slow
_BY_ATTRIBUTES = mixed(
    {
        "InstanceRequirements": {
            "VCpuCount": {"Min": 1},
            "MemoryMiB": {"Min": 1},
            "AllowedInstanceTypes": ["m5.large"],
        }
    }
)


def test_weighted_groups_count_capacity_units(cloud: Cloud, connection: LiveAdapter) -> None:
    """Sizes are units, an instance counts its weight, and the last launch may exceed the desired size."""
    overrides = mixed(
        {"InstanceType": "m5.large", "WeightedCapacity": "2"}, {"InstanceType": "m5.2xlarge", "WeightedCapacity": "5"}
    )
    cloud.create("units", 6, most=40, MixedInstancesPolicy=overrides)
    state = connection.state("units")
    assert state.replicas == 6
    assert {one.weight for one in state.instances} <= {2, 5}
    assert state.status_replicas == sum(one.weight for one in state.instances) >= 6
    assert connection.scale("units", state, 20) == Written(20)
    state = connection.state("units")
    assert (state.replicas, state.status_replicas >= 20) == (20, True)


def test_an_attribute_based_group_that_is_sized_in_units_counts_instances(
    cloud: Cloud, connection: LiveAdapter
) -> None:
    """Its size is a number of instances, whatever their types."""
    cloud.create("attributes", 2, DesiredCapacityType="units", MixedInstancesPolicy=_BY_ATTRIBUTES)
    state = connection.state("attributes")
    assert ([one.weight for one in state.instances], state.replicas) == ([1, 1], 2)


@pytest.mark.parametrize(("kind", "size"), [("vcpu", 4), ("memory-mib", 16384)])
def test_a_group_that_is_sized_in_another_unit_is_refused_alone(
    cloud: Cloud, connection: LiveAdapter, kind: str, size: int
) -> None:
    """Counting an instance as one MiB would make the group look nearly empty."""
    cloud.create("plain", 1)
    cloud.create("attributes", size, most=5 * size, DesiredCapacityType=kind, MixedInstancesPolicy=_BY_ATTRIBUTES)
    refused, neighbour = connection.observe("attributes", "plain").values()
    assert isinstance(refused, TargetNotScalable)
    assert str(refused) == (
        f"Auto Scaling group attributes cannot be scaled, because it is sized in {kind}; set its DesiredCapacityType "
        "to units and its sizes to numbers of instances"
    )
    assert isinstance(neighbour, TargetState)
    assert isinstance(connection.scale("attributes", TargetState(size, size, ()), size // 2), TargetNotScalable)
    assert cloud.describe("attributes")["DesiredCapacity"] == size
