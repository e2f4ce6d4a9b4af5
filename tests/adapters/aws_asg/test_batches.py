"""The number of requests of an observation."""

import pytest

from autoscaler.model import TargetState
from tests.adapters.aws_asg.conftest import Cloud, LiveAdapter

pytestmark = pytest.mark.slow
_MANY = 1000


def test_1000_quiet_groups_cost_at_most_20_describe_calls_a_cycle(cloud: Cloud, connection: LiveAdapter) -> None:
    """AWS throttles by account and region: deployments and consoles share the limit with the daemon."""
    names = [f"quiet-{number:04}" for number in range(_MANY)]
    cloud.server.create_many(names)
    for group in list(cloud.server.groups().values())[::100]:  # some have instances, which do not change
        group.set_desired_capacity(2)
    for cycle in ("first", "second"):
        cloud.server.requests.clear()
        answer = connection.observe(*names, seconds=60)
        assert all(isinstance(state, TargetState) for state in answer.values()), cycle
        assert cloud.server.count("Describe") == cloud.server.count() <= 20, cycle
    assert cloud.server.count() == _MANY / 100


def test_a_page_of_results_is_followed_by_the_next(cloud: Cloud, connection: LiveAdapter) -> None:
    """There are more groups than the fifty that a request returns by default."""
    names = [f"page-{number:03}" for number in range(120)]
    cloud.server.create_many(names)
    for name in names:
        cloud.add_policy(name, name)
    answer = connection.observe(*names)
    for name, state in answer.items():
        assert isinstance(state, TargetState)
        assert name in " ".join(state.warnings)
    assert cloud.server.count("DescribeAutoScalingGroups") == 2
    assert cloud.server.count("DescribePolicies") == 2


def test_lists_with_many_pages_are_read_over_several_cycles(cloud: Cloud, connection: LiveAdapter) -> None:
    """An account with thousands of policies costs four requests a cycle, and the adapter reads every policy."""
    cloud.create("crowded", 0)
    cloud.add_policy("crowded", "cpu")
    policies = cloud.server.backend.policies
    policies.update({f"copy-{number}": policies["cpu"] for number in range(599)})
    found = []
    for _ in range(3):
        cloud.server.requests.clear()
        found.append(len(connection.state("crowded").warnings))
        assert cloud.server.count("DescribePolicies|DescribeScheduledActions") <= 4
    assert found == [0, 600, 600]


def test_ec2_is_asked_once_for_each_instance(cloud: Cloud, connection: LiveAdapter) -> None:
    """It is asked for again only while it starts, when addresses appear."""
    cloud.create("known", 2)
    first = connection.state("known")
    assert connection.state("known") == first
    assert cloud.server.count("DescribeInstances$") == 1
    cloud.world.launch_seconds = 3600
    cloud.set("known", 3)
    connection.state("known")
    connection.state("known")
    assert cloud.server.count("DescribeInstances$") == 3


def test_instances_have_the_identities_of_labels(cloud: Cloud, connection: LiveAdapter) -> None:
    """Identities are the ids, addresses and names of ec2_sd_configs and exporters; readiness rules use launch times."""
    cloud.create("labels", 1)
    (one,) = connection.state("labels").instances
    machine = cloud.server.client("ec2").describe_instances(InstanceIds=[one.name])["Reservations"][0]["Instances"][0]
    for name in ("InstanceId", "PrivateIpAddress", "PrivateDnsName", "PublicIpAddress", "PublicDnsName"):
        assert machine[name] in one.identities
    assert one.started_at == machine["LaunchTime"]


def test_groups_that_lack_instances_cost_a_few_calls_a_cycle(cloud: Cloud, connection: LiveAdapter) -> None:
    """When twenty groups launch at once, each cycle reads the activities of some of them, in turn."""
    cloud.world.launch_seconds = 3600
    names = [f"launching-{number:02}" for number in range(20)]
    for name in names:
        cloud.create(name, 1)
    asked = []
    for _ in range(4):
        cloud.server.requests.clear()
        connection.observe(*names)
        of = [one for one in cloud.server.requests if one.action.endswith("DescribeScalingActivities")]
        assert len(of) <= 5
        asked += [one.parameters["AutoScalingGroupName"] for one in of]
    assert sorted(asked) == names
