"""Unexpected behaviour of a real engine, one for each test."""

from typing import Any

import pytest

from adapters.docker_swarm import DockerSwarm
from autoscaler.errors import TargetNotFound
from autoscaler.model import Conflict, Hold, Phase, Written
from tests.adapters.docker_swarm.build import Connect, call, change, ref, state_of, wait_state
from tests.servers.docker import Engine, published
from tests.servers.faults import Fault, running_faults

pytestmark = pytest.mark.slow


def replicated(size: int) -> dict[str, Any]:
    return {"Replicated": {"Replicas": size}}


RICH: dict[str, Any] = {
    "Labels": {"team": "a"},
    "EndpointSpec": published(),
    "UpdateConfig": {"Parallelism": 2, "Delay": 1_000_000_000, "FailureAction": "rollback", "MaxFailureRatio": 0.25},
    "TaskTemplate": {
        "ContainerSpec": {
            "Env": ["SLOT={{.Task.Slot}}"],
            "Hostname": "worker-{{.Task.Slot}}",
            "Mounts": [{"Type": "tmpfs", "Target": "/scratch"}],
            "Ulimits": [{"Name": "nofile", "Soft": 1024, "Hard": 1024}],
        },
        "Resources": {"Reservations": {"NanoCPUs": 1_000_000, "MemoryBytes": 8 << 20}},
        "RestartPolicy": {"Condition": "any", "Delay": 1_000_000_000},
        "LogDriver": {"Name": "json-file", "Options": {"max-size": "1m"}},
    },
}


def test_scaling_restarts_no_running_task(engine: Engine, swarm: DockerSwarm) -> None:
    """The raw spec is posted with only its number changed, so the containers stay."""
    with engine.service("rich", Mode=replicated(2), **RICH):
        before, spec = engine.wait_running("rich", 2), engine.client.inspect_service("rich")["Spec"]
        for size in (4, 3):
            assert swarm.scale(ref("rich"), change(size, state_of(swarm, "rich")), call()) == Written(size)
            after = engine.wait_running("rich", size)
            assert len(before.items() & after.items()) == 2
        assert engine.client.inspect_service("rich")["Spec"] == {**spec, "Mode": replicated(3)}
        assert state_of(swarm, "rich").hold == Hold()


def test_update_out_of_sequence_is_retried_after_a_re_read(engine: Engine, connect: Connect) -> None:
    """The version index changes when a client posts the same spec; nothing else has changed, so the write is valid."""
    with engine.service("web", Mode=replicated(0)), running_faults(engine.host) as proxy:
        swarm = connect(proxy.url.replace("http:", "tcp:"))
        seen = state_of(swarm, "web")
        proxy.faults.append(Fault("POST", first=lambda: engine.update("web"), times=1))
        assert swarm.scale(ref("web"), change(2, seen), call()) == Written(2)
        assert proxy.count("POST") == 2
        assert state_of(swarm, "web").replicas == 2


@pytest.mark.parametrize("outside", [{"Mode": replicated(1)}, {"Labels": {"changed": "yes"}}])
def test_an_outside_change_in_the_moment_of_the_write_wins(
    engine: Engine, connect: Connect, outside: dict[str, Any]
) -> None:
    """Compare-and-set: another client's change between the read and the write stays."""
    with engine.service("web", Mode=replicated(0)), running_faults(engine.host) as proxy:
        swarm = connect(proxy.url.replace("http:", "tcp:"))
        seen = state_of(swarm, "web")
        proxy.faults.append(Fault("POST", first=lambda: engine.update("web", **outside), times=1))
        assert isinstance(swarm.scale(ref("web"), change(2, seen), call()), Conflict)
        assert proxy.count("POST") == 1
        spec = engine.client.inspect_service("web")["Spec"]
        assert {key: spec[key] for key in outside} == outside


def test_a_service_deleted_and_created_anew_is_another_one(engine: Engine, swarm: DockerSwarm) -> None:
    """Name, spec and size are equal, but its metrics have not been read."""
    with engine.service("web", Mode=replicated(0)):
        seen = state_of(swarm, "web")
    with pytest.raises(TargetNotFound):
        swarm.scale(ref("web"), change(2, seen), call())
    with engine.service("web", Mode=replicated(0)):
        assert isinstance(swarm.scale(ref("web"), change(2, seen), call()), Conflict)


def test_the_beginning_of_an_id_is_no_name(engine: Engine, swarm: DockerSwarm) -> None:
    """The engine would find a service by it, and the adapter would scale the wrong one."""
    with engine.service("web", Mode=replicated(0)) as service_id:
        short = service_id[:6]
        assert engine.client.inspect_service(short)["Spec"]["Name"] == "web"
        assert isinstance(swarm.observe([ref(short)], call())[ref(short)], TargetNotFound)
        with pytest.raises(TargetNotFound):
            swarm.scale(ref(short), change(2, 0), call())


def test_with_a_healthcheck_running_means_healthy(engine: Engine, swarm: DockerSwarm) -> None:
    """The container starts at once; the task is ready when its check passes."""
    check = {"Test": ["CMD", "test", "-e", "/tmp/ok"], "Interval": 500_000_000, "Retries": 1000}
    with engine.service("web", Mode=replicated(1), TaskTemplate={"ContainerSpec": {"Healthcheck": check}}):
        starting = wait_state(swarm, "web", lambda state: any(one.detail == "starting" for one in state.instances))
        assert [(one.phase, one.ready) for one in starting.instances] == [(Phase.PENDING, False)]
        (task,) = engine.client.tasks(filters={"service": "web"})
        container = task["Status"]["ContainerStatus"]["ContainerID"]
        assert engine.client.inspect_container(container)["State"]["Running"]
        engine.client.exec_start(engine.client.exec_create(container, ["touch", "/tmp/ok"])["Id"])
        healthy = wait_state(swarm, "web", lambda state: state.instances[0].ready)
        assert healthy.instances[0].phase is Phase.RUNNING
        assert healthy.instances[0].name == starting.instances[0].name


def test_excess_over_max_replicas_per_node_stays_pending_and_stops_growth(engine: Engine, swarm: DockerSwarm) -> None:
    """More tasks would not be placed either; scaling in remains possible and lifts the hold."""
    placement = {"Placement": {"MaxReplicas": 2}}
    with engine.service("web", Mode=replicated(3), TaskTemplate=placement):
        full = wait_state(swarm, "web", lambda state: state.hold.scale_out)
        assert full.hold.scale_out is not None
        assert full.hold.scale_out.reason == "TasksUnplaced"
        assert "max replicas per node" in full.hold.scale_out.message
        assert full.warnings == ("max_replicas_per_node 2 on 1 nodes has room for 2 of 3",)
        assert any("max replicas per node" in one.detail for one in full.instances)
        assert full.status_replicas == 3
        assert swarm.scale(ref("web"), change(2, full), call()) == Written(2)
        wait_state(swarm, "web", lambda state: state.hold == Hold() and state.status_replicas == 2)


def test_a_task_that_keeps_failing_says_with_what(engine: Engine, swarm: DockerSwarm) -> None:
    """Between two attempts Swarm shows a new, waiting task; the old one has the reason."""
    with engine.service("web", command=["false"], Mode=replicated(1)):
        failing = wait_state(swarm, "web", lambda state: any(one.phase is Phase.FAILED for one in state.instances))
        assert "non-zero exit (1)" in next(one.detail for one in failing.instances if one.phase is Phase.FAILED)
        assert failing.status_replicas <= 1


def test_tasks_that_leave_are_deleting_until_they_are_gone(engine: Engine, swarm: DockerSwarm) -> None:
    """They may drain for minutes: their samples must not count."""
    stubborn = {"ContainerSpec": {"Init": False, "StopGracePeriod": 3_000_000_000}}
    with engine.service("web", Mode=replicated(2), TaskTemplate=stubborn):
        before = engine.wait_running("web", 2)
        swarm.scale(ref("web"), change(1, 2), call())
        leaving = wait_state(swarm, "web", lambda state: any(one.deleting for one in state.instances))
        assert {one.name.split(".")[2] for one in leaving.instances} == set(before)
        assert (leaving.replicas, leaving.status_replicas) == (1, 1)
        wait_state(swarm, "web", lambda state: len(state.instances) == 1 and not state.instances[0].deleting)


def test_observing_costs_three_calls_whatever_the_number_of_services(engine: Engine, connect: Connect) -> None:
    """A cycle over all services of a swarm must not cost more than over one."""
    services = [engine.service(f"s{number}", Mode=replicated(0)) for number in range(8)]
    try:
        for each in services:
            each.__enter__()
        with running_faults(engine.host) as proxy:
            swarm = connect(proxy.url.replace("http:", "tcp:"))
            state_of(swarm, "s0")
            first = len(proxy.requests)
            state_of(swarm, "s0")
            one = len(proxy.requests) - first
            swarm.observe([ref(f"s{number}") for number in range(8)], call())
            assert (first, one, len(proxy.requests) - first - one) == (4, 3, 3)  # the version is requested once
    finally:
        for each in services:
            each.__exit__(None, None, None)
