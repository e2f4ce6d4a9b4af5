"""Tasks as instances, and how many requests they take."""

from datetime import timedelta

import pytest

from autoscaler.errors import TargetForbidden, TargetUnavailable
from autoscaler.model import Phase, TargetState
from tests.adapters.aws_ecs.conftest import BRIDGE, HEALTH_CHECK, Cloud, LiveAdapter
from tests.servers.faults import Fault

pytestmark = pytest.mark.slow


def test_a_task_is_named_by_its_ids_and_the_address_and_name_of_its_interface(
    cloud: Cloud, connection: LiveAdapter
) -> None:
    service = cloud.create("shop/web", 1)
    (one,) = connection.state("shop/web").instances
    (task,) = service.tasks
    assert one.name == task.id
    assert one.identities >= {task.id, task.arn, task.address, f"ip-{task.address.replace('.', '-')}.internal"}
    assert one.started_at is not None
    assert task.started is not None
    assert abs(one.started_at - task.started) < timedelta(milliseconds=1)
    assert one.requests == {"cpu": 500, "memory": 1024 * 2**20 * 1000}


def test_a_task_on_ports_of_a_container_instance_is_named_by_address_and_port(
    cloud: Cloud, connection: LiveAdapter
) -> None:
    """Tasks of one machine share its address: the address alone names none of them."""
    address = cloud.register_machine("metal")
    service = cloud.create("metal/web", 2, cloud.define(**BRIDGE))
    instances = connection.state("metal/web").instances
    assert {f"{address}:{task.port}" for task in service.tasks} == {
        name for one in instances for name in one.identities if name.startswith(address)
    }
    assert instances[0].container_requests == {"web": {"cpu": 250, "memory": 512 * 2**20 * 1000}}
    connection.state("metal/web")
    assert cloud.server.count("DescribeContainerInstances") == 1
    assert cloud.server.count("ec2:DescribeInstances") == 1


@pytest.mark.parametrize(("health", "ready"), [("HEALTHY", True), ("UNHEALTHY", False), ("UNKNOWN", False)])
def test_a_health_check_says_whether_a_task_is_ready(
    cloud: Cloud, connection: LiveAdapter, health: str, ready: bool
) -> None:
    """AWS says UNKNOWN until the check has passed once."""
    service = cloud.create("shop/web", 1, cloud.define(container={"healthCheck": HEALTH_CHECK}))
    service.tasks[0].health = health
    (one,) = connection.state("shop/web").instances
    assert (one.phase, one.ready) == (Phase.RUNNING, ready)


def test_a_change_of_health_is_seen_in_the_next_cycle(cloud: Cloud, connection: LiveAdapter) -> None:
    service = cloud.create("shop/web", 1, cloud.define(container={"healthCheck": HEALTH_CHECK}))
    assert connection.state("shop/web").ready == 1
    service.tasks[0].health = "UNHEALTHY"
    assert connection.state("shop/web").ready == 0


def test_a_task_without_a_health_check_runs_without_health_information(cloud: Cloud, connection: LiveAdapter) -> None:
    """AWS says UNKNOWN for ever; an autoscaler that waited for its health would never see a ready task."""
    cloud.create("shop/web", 1)
    (one,) = connection.state("shop/web").instances
    assert one.ready is None


def test_a_task_that_starts_is_pending(cloud: Cloud, connection: LiveAdapter) -> None:
    cloud.world.launch_seconds = 3600
    cloud.create("shop/web", 1)
    state = connection.state("shop/web")
    (one,) = state.instances
    assert (one.phase, one.ready, one.detail) == (Phase.PENDING, False, "PROVISIONING")
    assert state.status_replicas == 1


def test_a_task_that_leaves_is_known_until_it_has_stopped(cloud: Cloud, connection: LiveAdapter) -> None:
    """AWS lists it no more, and its samples are still scraped: they must not count."""
    service = cloud.create("shop/web", 2)
    connection.state("shop/web")
    cloud.world.terminate_seconds = 3600
    service.resize(1)
    connection.state("shop/web")
    state = connection.state("shop/web")
    assert sorted(one.deleting for one in state.instances) == [False, True]
    assert state.status_replicas == 1
    cloud.world.advance(3600)
    assert len(connection.state("shop/web").instances) == 1


def test_tasks_at_rest_are_described_once(cloud: Cloud, connection: LiveAdapter) -> None:
    """A cycle without changes asks for the service and for the list of its tasks."""
    cloud.create("shop/web", 3)
    connection.state("shop/web")
    connection.state("shop/web")
    cloud.server.requests.clear()
    before = connection.state("shop/web").instances
    assert [one.action for one in cloud.server.requests if one.access_key == "ours"] == [
        "ecs:DescribeServices",
        "ecs:ListTasks",
    ]
    assert connection.state("shop/web").instances[0] is before[0]


def test_services_are_asked_for_by_tens_and_the_tasks_of_many_by_cluster(cloud: Cloud, connection: LiveAdapter) -> None:
    """Twenty-five services of a cluster with 150 tasks take three requests and two pages, and no list for each."""
    definition, names = cloud.define(), [f"shop/web-{number}" for number in range(25)]
    for name in names:
        cloud.create(name, 5, definition)
    cloud.create("shop/no-target", 25, definition)
    for _ in range(2):
        found = connection.observe(*names)
    assert {len(state.instances) for state in found.values() if isinstance(state, TargetState)} == {5}
    assert all(isinstance(state, TargetState) for state in found.values())
    cloud.server.requests.clear()
    connection.observe(*names)
    counts = {each: cloud.server.count(each) for each in ("DescribeServices", "ListTasks", "DescribeTasks")}
    assert counts == {"DescribeServices": 3, "ListTasks": 2, "DescribeTasks": 0}


def test_a_service_that_becomes_a_target_later_is_read_whole(cloud: Cloud, connection: LiveAdapter) -> None:
    """Its tasks were listed before, as those of a service that is no target."""
    names = [f"shop/web-{number}" for number in range(12)]
    definition = cloud.define()
    for name in names:
        cloud.create(name, 1, definition)
    connection.observe(*names[:11])
    last = connection.observe(*names)[names[-1]]
    assert isinstance(last, TargetState)
    assert len(last.instances) == 1


def test_tasks_that_cannot_be_listed_fail_only_their_own_service(cloud: Cloud, connection: LiveAdapter) -> None:
    """Without its tasks, no average of a service is right."""
    for name in ("shop/web", "shop/work"):
        cloud.create(name, 1)
    cloud.server.refuse("ecs:ListTasks", "AccessDeniedException", times=1)
    web, work = connection.observe("shop/web", "shop/work").values()
    assert isinstance(web, TargetForbidden)
    assert "ecs:ListTasks" in str(web)
    assert isinstance(work, TargetState)


def test_a_task_that_cannot_be_read_fails_only_its_own_service(cloud: Cloud, connection: LiveAdapter) -> None:
    """Also when the tasks of all services of a cluster come in one answer."""
    names = [f"shop/web-{number}" for number in range(12)]
    for name in names:
        cloud.create(name, 2, cloud.define())
    cloud.server.refuse("ecs:DescribeTaskDefinition", "AccessDeniedException", times=1)
    found = connection.observe(*names)
    (error,) = [one for one in found.values() if not isinstance(one, TargetState)]
    assert isinstance(error, TargetForbidden)
    again = connection.observe(*names)
    assert [len(one.instances) for one in again.values() if isinstance(one, TargetState)] == [2] * 12


def test_a_machine_that_cannot_be_read_fails_only_the_services_on_it(cloud: Cloud, connection: LiveAdapter) -> None:
    """Tasks on Fargate in the same cluster need no machine."""
    cloud.register_machine("metal")
    cloud.create("metal/web", 1, cloud.define(**BRIDGE))
    names = [f"metal/work-{number}" for number in range(11)]
    for name in names:
        cloud.create(name, 1)
    cloud.server.refuse("ec2:DescribeInstances", "UnauthorizedOperation", status=403)
    found = connection.observe("metal/web", *names)
    assert isinstance(found.pop("metal/web"), TargetForbidden)
    assert all(isinstance(one, TargetState) for one in found.values())


def test_a_machine_that_ec2_does_not_know_is_asked_for_once(cloud: Cloud, connection: LiveAdapter) -> None:
    """A machine outside of AWS (ECS Anywhere) has an id that EC2 never lists."""
    cloud.register_machine("metal")
    names = ("metal/web", "metal/work")
    for name in names:
        cloud.create(name, 1, cloud.define(**BRIDGE))
    none = "<DescribeInstancesResponse><reservationSet/></DescribeInstancesResponse>"
    cloud.server.faults.faults.append(Fault("ec2:DescribeInstances", 200, none, "text/xml"))
    for _ in range(3):
        found = connection.observe(*names)
        assert all(isinstance(one, TargetState) for one in found.values())
    asked = [one for one in cloud.server.requests if one.action == "ec2:DescribeInstances" and one.access_key == "ours"]
    assert len(asked) == 1


def test_tasks_that_were_described_before_an_error_are_not_described_again(
    cloud: Cloud, connection: LiveAdapter
) -> None:
    """When AWS throttles, a large cluster is read in the course of several cycles."""
    definition, names = cloud.define(), [f"shop/web-{number}" for number in range(12)]
    for name in names:
        cloud.create(name, 20, definition)
    cloud.server.faults.faults.append(Fault("ecs:DescribeTasks", first=lambda: None, times=2))
    cloud.server.refuse("ecs:DescribeTasks", "ThrottlingException", times=3)
    found = connection.observe(*names)
    assert all(isinstance(one, TargetUnavailable) for one in found.values())
    cloud.server.requests.clear()
    found = connection.observe(*names)
    assert [len(one.instances) for one in found.values() if isinstance(one, TargetState)] == [20] * 12
    assert cloud.server.count("DescribeTasks") == 1


def test_services_that_could_not_be_read_go_first_in_the_next_cycle(cloud: Cloud, connection: LiveAdapter) -> None:
    """When a cycle is too short for all, the same ones would never be read."""
    names = ("a/web", "b/web", "c/web")
    for name in names:
        cloud.create(name, 1)
    cloud.server.faults.faults.append(Fault("ecs:ListTasks", first=lambda: None, times=2))
    cloud.server.refuse("ecs:ListTasks", "ServerException", status=500, times=3)
    found = connection.observe(*names)
    assert [isinstance(found[name], TargetState) for name in names] == [True, True, False]
    cloud.server.requests.clear()
    connection.observe(*names)
    assert [one.parameters["cluster"] for one in cloud.server.requests if one.action == "ecs:ListTasks"] == [*"cab"]


def test_a_target_that_is_given_up_is_forgotten(cloud: Cloud, connection: LiveAdapter) -> None:
    """A daemon runs for months, and its autoscalers change."""
    both = ("shop/web", "shop/work")
    for name in both:
        cloud.create(name, 1)
    for names in (both, both[1:], both):
        connection.observe(*names)
    assert cloud.server.count("DescribeTasks") == 3
