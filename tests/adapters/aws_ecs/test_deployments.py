"""Deployments of a service: what waits for them, and what they are not."""

from typing import Any

import pytest

from autoscaler.errors import TargetNotFound, TargetNotScalable
from autoscaler.model import Held, Hold, TargetState, Written
from tests.adapters.aws_ecs.conftest import Cloud, LiveAdapter

pytestmark = pytest.mark.slow
_BREAKER = {"deploymentCircuitBreaker": {"enable": True, "rollback": False}}
_ROLLBACK = {"deploymentCircuitBreaker": {"enable": True, "rollback": True}}


def _reasons(state: TargetState) -> tuple[str | None, str | None]:
    """Return what holds scale-out and scale-in."""
    out, down = state.hold.scale_out, state.hold.scale_in
    return (out.reason if out else None, down.reason if down else None)


def test_a_deployment_in_progress_holds_scale_in_and_lets_scale_out_pass(cloud: Cloud, connection: LiveAdapter) -> None:
    """AWS's own service auto scaling does the same."""
    cloud.create("shop/web", 4)
    connection.state("shop/web")
    cloud.world.launch_seconds = 3600
    cloud.update("shop/web", taskDefinition=cloud.define())
    state = connection.state("shop/web")
    assert _reasons(state) == (None, "DeploymentInProgress")
    assert isinstance(connection.scale("shop/web", state, 2), Held)
    assert connection.scale("shop/web", state, 6) == Written(6)
    assert cloud.desired("shop/web") == 6


def test_a_deployment_without_a_rollout_state_is_told_by_the_tasks_that_it_replaces(
    cloud: Cloud, connection: LiveAdapter
) -> None:
    """AWS gives no state for services behind a Classic Load Balancer."""
    service = cloud.create("shop/web", 2)
    new, old = {"id": "ecs-svc/2", "status": "PRIMARY"}, {"id": "ecs-svc/1", "status": "ACTIVE"}
    service.options["deployments"] = [new, old]
    assert _reasons(connection.state("shop/web")) == (None, "DeploymentInProgress")
    service.options["deployments"] = [new]
    assert connection.state("shop/web").hold == Hold()


def test_a_new_size_is_no_deployment(cloud: Cloud, connection: LiveAdapter) -> None:
    """A service that grows may shrink at once, while its new tasks still start."""
    cloud.create("shop/web", 2)
    state = connection.state("shop/web")
    cloud.world.launch_seconds = 3600
    assert connection.scale("shop/web", state, 5) == Written(5)
    state = connection.state("shop/web")
    assert state.hold == Hold()
    assert connection.scale("shop/web", state, 3) == Written(3)


@pytest.mark.parametrize("configuration", [_BREAKER, _ROLLBACK], ids=["failed", "rolled back"])
def test_a_deployment_that_its_circuit_breaker_stopped_holds_both_directions(
    cloud: Cloud, connection: LiveAdapter, configuration: dict[str, object]
) -> None:
    """New tasks would be of a revision that does not start, or disturb the return to the one before it."""
    cloud.world.steered = cloud.world.now
    service = cloud.create("shop/web", 2, deploymentConfiguration=configuration)
    connection.state("shop/web")
    cloud.world.launch_failure, cloud.world.launch_seconds = "no such image", 3600
    service.stop(service.tasks[:1], cloud.world.now)  # so that a rollback has a task to start
    cloud.update("shop/web", taskDefinition=cloud.define())
    for _ in range(3):
        cloud.world.advance(10)
        state = connection.state("shop/web")
    assert _reasons(state) == ("DeploymentFailed", "DeploymentFailed")
    assert state.hold.scale_out is not None
    assert "circuit breaker" in state.hold.scale_out.message
    assert isinstance(connection.scale("shop/web", state, 4), Held)
    assert isinstance(connection.scale("shop/web", state, 1), Held)


def test_a_rollback_that_ended_holds_nothing(cloud: Cloud, connection: LiveAdapter) -> None:
    cloud.world.steered = cloud.world.now
    cloud.create("shop/web", 2, deploymentConfiguration=_ROLLBACK)
    connection.state("shop/web")
    cloud.world.launch_failure = "no such image"
    cloud.update("shop/web", taskDefinition=cloud.define())
    cloud.world.advance(10)
    connection.state("shop/web")
    cloud.world.advance(10)
    connection.state("shop/web")
    cloud.world.launch_failure = None
    cloud.world.advance(10)
    connection.state("shop/web")
    assert connection.state("shop/web").hold == Hold()


def test_a_deployment_of_codedeploy_holds_both_directions(cloud: Cloud, connection: LiveAdapter) -> None:
    """CodeDeploy lets a deployment fail when the service does not settle within five minutes after a scaling."""
    service = cloud.create("shop/web", 2, deploymentController={"type": "CODE_DEPLOY"})
    connection.state("shop/web")
    service.task_sets = [{"id": "ecs-svc/blue", "status": "PRIMARY"}]
    assert connection.state("shop/web").hold == Hold()
    service.task_sets.append({"id": "ecs-svc/green", "status": "ACTIVE"})
    assert _reasons(connection.state("shop/web")) == ("DeploymentInProgress", "DeploymentInProgress")


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"schedulingStrategy": "DAEMON"}, "only a REPLICA service has a size"),
        ({"deploymentController": {"type": "EXTERNAL"}}, "external deployment controller"),
    ],
)
def test_a_service_without_a_size_fails_only_its_own_autoscaler(
    cloud: Cloud, connection: LiveAdapter, more: dict[str, Any], said: str
) -> None:
    cloud.create("shop/other", 1, **more)
    cloud.create("shop/web", 1)
    found = connection.look("shop/other")
    assert isinstance(found, TargetNotScalable)
    assert said in str(found)
    assert isinstance(connection.look("shop/web"), TargetState)


def test_a_service_that_is_being_deleted_is_not_scaled_and_a_deleted_one_does_not_exist(
    cloud: Cloud, connection: LiveAdapter
) -> None:
    """AWS lists both for some time."""
    cloud.create("shop/web", 1)
    cloud.world.terminate_seconds = 60
    cloud.ecs.delete_service(cluster="shop", service="web", force=True)
    assert isinstance(connection.look("shop/web"), TargetNotScalable)
    cloud.world.advance(60)
    assert isinstance(connection.look("shop/web"), TargetNotFound)


def test_a_cluster_that_does_not_exist_disturbs_no_other(cloud: Cloud, connection: LiveAdapter) -> None:
    """AWS answers the whole request with an error."""
    cloud.create("shop/web", 1)
    found = connection.look("shpo/web")
    assert isinstance(found, TargetNotFound)
    assert "ECS service shpo/web does not exist in eu-west-1" in str(found)
    assert isinstance(connection.look("shop/web"), TargetState)


@pytest.mark.parametrize(
    ("tag", "said"),
    [
        ({"key": "aws:cloudformation:stack-name", "value": "shop-stack"}, "remove `DesiredCount` from it"),
        ({"key": "ManagedBy", "value": "Terraform"}, "ignore_changes = [desired_count]"),
    ],
)
def test_a_tag_names_the_template_that_resets_the_size(
    cloud: Cloud, connection: LiveAdapter, tag: dict[str, str], said: str
) -> None:
    """ECS does not say which size a service had before its deployment, so a reset cannot be told."""
    cloud.create("shop/web", 1, tags=[tag])
    assert said in connection.state("shop/web").reset_by
