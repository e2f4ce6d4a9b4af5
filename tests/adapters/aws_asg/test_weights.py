"""Groups whose size counts units, not instances."""

import pytest

from autoscaler.errors import TargetForbidden, TargetUnavailable
from autoscaler.model import TargetState, Written
from tests.adapters.aws_asg.conftest import Cloud, LiveAdapter, mixed

pytestmark = pytest.mark.slow


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


@pytest.mark.parametrize(("kind", "weight"), [("vcpu", 2), ("memory-mib", 8192), ("units", 1)])
def test_attribute_based_groups_count_what_their_size_is_measured_in(
    cloud: Cloud, connection: LiveAdapter, kind: str, weight: int
) -> None:
    """An m5.large has 2 virtual processors and 8 GiB."""
    requirements = {"VCpuCount": {"Min": 1}, "MemoryMiB": {"Min": 1}, "AllowedInstanceTypes": ["m5.large"]}
    cloud.create(
        "attributes",
        2 * weight,
        most=10 * weight,
        DesiredCapacityType=kind,
        MixedInstancesPolicy=mixed({"InstanceRequirements": requirements}),
    )
    state = connection.state("attributes")
    assert [one.weight for one in state.instances] == [weight, weight]
    assert (state.replicas, state.status_replicas) == (2 * weight, 2 * weight)
    connection.state("attributes")
    assert cloud.server.count("DescribeInstanceTypes") == (kind != "units")


def test_an_unknown_weight_is_an_error_of_only_its_group(cloud: Cloud, connection: LiveAdapter) -> None:
    """Counting an instance as one unit of memory would make the group look nearly empty."""
    cloud.create("plain", 1)
    requirements = {"VCpuCount": {"Min": 1}, "MemoryMiB": {"Min": 1}, "AllowedInstanceTypes": ["m5.large"]}
    cloud.create(
        "by-vcpu", 2, DesiredCapacityType="vcpu", MixedInstancesPolicy=mixed({"InstanceRequirements": requirements})
    )
    fault = cloud.server.refuse("DescribeInstanceTypes", "UnauthorizedOperation", status=403)
    assert isinstance(connection.look("by-vcpu"), TargetForbidden)
    assert isinstance(connection.look("plain"), TargetState)
    fault.status, fault.body = 200, "<DescribeInstanceTypesResponse><instanceTypeSet/></DescribeInstanceTypesResponse>"
    found = connection.look("by-vcpu")
    assert isinstance(found, TargetUnavailable)
    assert "m5.large" in str(found)
