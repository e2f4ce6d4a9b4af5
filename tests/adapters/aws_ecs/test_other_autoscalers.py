"""Application Auto Scaling is another autoscaler of a service that is registered there."""

from typing import Any

import pytest

from tests.adapters.aws_ecs.conftest import Cloud, Connect, LiveAdapter

pytestmark = pytest.mark.slow
_ALL = dict.fromkeys(("DynamicScalingInSuspended", "DynamicScalingOutSuspended", "ScheduledScalingSuspended"), True)


def _register(cloud: Cloud, name: str, **more: Any) -> None:
    cloud.server.client("application-autoscaling").register_scalable_target(
        ServiceNamespace="ecs",
        ResourceId=f"service/{name}",
        ScalableDimension="ecs:service:DesiredCount",
        MinCapacity=1,
        MaxCapacity=4,
        **more,
    )


def test_a_registered_service_is_a_warning_of_two_autoscalers(cloud: Cloud, connection: LiveAdapter) -> None:
    """Each of the two would overwrite the other's sizes."""
    for name in ("shop/both", "shop/one"):
        cloud.create(name)
    _register(cloud, "shop/both")
    (warning,) = connection.state("shop/both").warnings
    assert "Application Auto Scaling also changes this service's size; deregister" in warning
    assert connection.state("shop/one").warnings == ()


@pytest.mark.parametrize(("suspended", "warned"), [(_ALL, False), (_ALL | {"ScheduledScalingSuspended": False}, True)])
def test_a_registration_whose_scaling_is_suspended_is_no_autoscaler(
    cloud: Cloud, connection: LiveAdapter, suspended: dict[str, bool], warned: bool
) -> None:
    """So an operator moves a service to this autoscaler and back."""
    cloud.create("shop/web")
    _register(cloud, "shop/web", SuspendedState=suspended)
    assert bool(connection.state("shop/web").warnings) is warned


def test_a_list_that_is_refused_costs_no_size(cloud: Cloud, connect: Connect) -> None:
    """It is logged once."""
    cloud.create("shop/web")
    cloud.server.refuse("application-autoscaling", "AccessDeniedException")
    connection = connect(endpointUrl=cloud.server.url)
    for _ in range(2):
        assert connection.state("shop/web").replicas == 1
    assert connection.logger.events == ["aws_request_failed"]
