"""One entry of a list lacks what the Docker API documents. It costs its own service alone."""

from collections.abc import Callable
from typing import Any

import pytest

from autoscaler.errors import TargetError, TargetNotFound, TargetUnavailable
from autoscaler.model import TargetState
from tests.adapters.docker_swarm.build import Connect, call, ref
from tests.adapters.docker_swarm.samples import node, service, task
from tests.servers.faults import running_faults, says

Observe = Callable[..., dict[str, TargetState | TargetError]]


@pytest.fixture
def observe(connect: Connect) -> Any:
    """Observe the services `odd` and `well`, of one task each, and `gone`, with other lists if a test says so."""
    with running_faults() as faults:

        def observed(**lists: Any) -> dict[str, TargetState | TargetError]:
            faults.faults += [
                says("/version$", {"ApiVersion": "1.41"}),
                says(r"/services\?", lists.get("services", [_service("odd"), _service("well")])),
                says("/tasks", lists.get("tasks", [_task("odd"), _task("well")])),
                says("/nodes", lists.get("nodes", [node()])),
            ]
            swarm = connect(faults.url.replace("http:", "tcp:"))
            found = swarm.observe([ref("odd"), ref("well"), ref("gone")], call())
            return {target.name: state for target, state in found.items()}

        yield observed


def _service(name: str) -> Any:
    return service(name, 1, ID=f"id-{name}", ServiceStatus={"RunningTasks": 1, "DesiredTasks": 1})


def _task(name: str) -> Any:
    return task(ServiceID=f"id-{name}", ID=f"task-{name}")


def _without(entry: Any, key: str) -> Any:
    return {name: value for name, value in entry.items() if name != key}


@pytest.mark.parametrize(
    "odd",
    [
        _without(_service("odd"), "ID"),
        _without(_service("odd"), "Spec"),
        {**_service("odd"), "Spec": {**_service("odd")["Spec"], "Mode": None}},
        {**_service("odd"), "ServiceStatus": 3},
        {**_service("odd"), "Spec": {**_service("odd")["Spec"], "TaskTemplate": None, "Mode": {"Replicated": {}}}},
    ],
)
def test_an_odd_service_fails_alone(observe: Observe, odd: Any) -> None:
    """All services of the cluster are in one answer."""
    found = observe(services=[odd, _service("well")])
    assert isinstance(found["odd"], TargetUnavailable)
    assert isinstance(found["well"], TargetState)


@pytest.mark.parametrize(
    "odd",
    [
        _without(_task("odd"), "ServiceID"),
        _without(_task("odd"), "Status"),
        _without(_task("odd"), "ID"),
        {**_task("odd"), "Status": {"State": None}},
        {**_task("odd"), "CreatedAt": "yesterday"},
        {**_task("odd"), "Spec": None},
        None,
    ],
)
def test_an_odd_task_fails_its_service_alone(observe: Observe, odd: Any) -> None:
    """All tasks of a hundred services are in one answer. A service of which a task is missing is not scaled."""
    found = observe(tasks=[odd, _task("well")])
    assert not isinstance(found["odd"], TargetState) or not found["odd"].instances
    assert isinstance(found["well"], TargetState)


@pytest.mark.parametrize("key", ["ID", "Status", "Spec", "Description"])
def test_an_odd_node_fails_only_the_services_with_tasks_on_it(observe: Observe, key: str) -> None:
    """All nodes of the cluster are in one answer."""
    odd = _without({**node(), "ID": "odd-node"}, key)
    unplaced = {"State": "pending", "Err": "no suitable node", "Timestamp": "2026-11-20T00:00:00Z"}
    waiting = {**_task("well"), "Status": unplaced, "NodeID": ""}
    found = observe(nodes=[odd, node()], tasks=[{**_task("odd"), "NodeID": "odd-node"}, waiting])
    assert isinstance(found["well"], TargetState)
    assert isinstance(found["odd"], TargetState) == (key in ("ID",))
    assert isinstance(found["gone"], TargetNotFound)
