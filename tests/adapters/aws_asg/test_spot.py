"""Groups with Spot instances, as docs/aws-asg.md describes them.

Source: Amazon EC2 Auto Scaling User Guide, "Use Capacity Rebalancing to handle Amazon EC2 Spot interruptions".
"""

import pytest

from autoscaler.decide import decide
from autoscaler.model import (
    History,
    MetricOutcome,
    MetricSpec,
    MetricType,
    Observation,
    Reading,
    TargetState,
    TargetType,
    ValueReading,
)
from autoscaler.observe.readiness import normalise
from tests.adapters.aws_asg.conftest import Cloud, LiveAdapter
from tests.decide.build import NOW, metric, samples, scaler
from tests.replaced import replace

pytestmark = pytest.mark.slow

LOAD = metric(MetricType.PODS, TargetType.AVERAGE_VALUE, 100)
TOTAL = metric(MetricType.EXTERNAL, TargetType.AVERAGE_VALUE, 100)


def proposed(spec: MetricSpec, found: TargetState, reading: Reading) -> MetricOutcome:
    state = replace(found, instances=normalise(None, found.instances, NOW).instances)
    return decide(scaler(spec), Observation(state, (reading,)), History(), NOW).metrics[0]


def test_while_more_instances_exist_than_desired_the_size_follows_the_load(
    cloud: Cloud, connection: LiveAdapter
) -> None:
    """Capacity Rebalancing launches the replacement before the instance at risk is ended."""
    cloud.create("spot", 4, CapacityRebalance=True)
    cloud.server.groups()["spot"].replace_at_risk()
    found = connection.state("spot")
    assert (found.replicas, found.status_replicas, len(found.instances)) == (4, 5, 5)
    for total, wanted in ((400, 4), (500, 5), (600, 6), (300, 3)):
        each = dict.fromkeys((one.name for one in found.instances), total // 5)
        assert (total, proposed(LOAD, found, samples(each)).proposal) == (total, wanted if total != 500 else 4)
        assert (total, proposed(TOTAL, found, ValueReading((total,))).proposal) == (total, wanted)


def test_an_instance_that_is_interrupted_is_replaced_at_the_same_size(cloud: Cloud, connection: LiveAdapter) -> None:
    """Its samples are ignored from its interruption on, and the decision is made with the others."""
    cloud.create("spot", 3)
    cloud.world.advance(60)
    cloud.world.launch_seconds = cloud.world.terminate_seconds = 120
    (lost, *_) = cloud.ids("spot")
    cloud.autoscaling.terminate_instance_in_auto_scaling_group(InstanceId=lost, ShouldDecrementDesiredCapacity=False)
    found = connection.state("spot")
    assert (found.replicas, found.status_replicas, found.ready) == (3, 3, 2)
    each = {one.name: 900 if one.name == lost else 100 for one in found.instances}
    made = proposed(LOAD, found, samples(each))
    assert (made.ignored, made.proposal) == ((lost,), 3)
