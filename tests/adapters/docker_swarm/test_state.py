"""States from raw objects."""

from datetime import UTC, datetime
from typing import Any

import pytest

from adapters.docker_swarm.rollouts import OnRollout
from adapters.docker_swarm.state import at_rest, read_target, revision
from autoscaler.errors import TargetNotScalable
from autoscaler.model import Hold, Phase
from tests.adapters.docker_swarm.samples import CONTAINER_ID, node, service, status, task


@pytest.mark.parametrize(
    ("state", "phase"),
    [
        *((state, Phase.PENDING) for state in ("new", "pending", "assigned", "accepted", "preparing", "ready")),
        ("starting", Phase.PENDING),
        ("running", Phase.RUNNING),
        ("failed", Phase.FAILED),
        ("rejected", Phase.FAILED),
    ],
)
def test_every_task_state_has_a_phase(state: str, phase: Phase) -> None:
    """HPA treats ready, unready and ignored instances by phase: each of Swarm's states must have one."""
    (instance,) = read_target(service(size=1), [task(state)], [node()]).instances
    assert (instance.phase, instance.ready) == (phase, state == "running")


@pytest.mark.parametrize("mode", ["Global", "ReplicatedJob", "GlobalJob"])
def test_only_replicated_services_have_a_size(mode: str) -> None:
    """A service of another mode fails only its own autoscaler, as the contract holds."""
    with pytest.raises(TargetNotScalable, match=f"is of mode {mode}, and only Replicated services"):
        read_target(service(Spec={**service()["Spec"], "Mode": {mode: {}}}), [], [node()])


@pytest.mark.parametrize("state", ["complete", "shutdown", "orphaned", "remove"])
def test_an_ended_task_is_no_instance(state: str) -> None:
    """Swarm keeps five ended tasks for each slot; they carry no load."""
    assert read_target(service(size=1), [task(state, desired="shutdown")], [node()]).instances == ()


def test_only_the_last_failure_of_a_slot_without_a_running_task_is_shown() -> None:
    """An operator needs the reason why no task runs, not earlier restarts."""
    old = task("failed", desired="shutdown", ID="old", CreatedAt="2026-11-20T00:00:00Z")
    last = task("failed", desired="shutdown", ID="last", Status=status("failed", Err="task: non-zero exit (3)"))
    following = task("ready", desired="ready", ID="next", CreatedAt="2026-11-22T00:00:00Z")
    repaired = task("failed", slot=2, desired="shutdown", ID="repaired")
    found = read_target(service(), [following, repaired, last, old, task(slot=2)], [node()])
    assert [one.name.split(".")[2] for one in found.instances][:2] == ["last", "next"]
    assert len(found.instances) == 3
    assert (found.instances[0].phase, found.instances[0].detail) == (Phase.FAILED, "task: non-zero exit (3)")
    assert not found.instances[0].deleting
    assert found.status_replicas == 2


def test_an_instance_answers_to_every_name_that_a_label_may_carry() -> None:
    """Identities include the names in labels of cAdvisor and dockerswarm_sd, and a task's own host name."""
    container = {"ContainerID": CONTAINER_ID, "PID": 1}
    ports = {"Ports": [{"Protocol": "tcp", "TargetPort": 8080, "PublishedPort": 32769, "PublishMode": "host"}]}
    attached = [{"Addresses": ["10.0.1.3/24"]}]
    one = task(Status=status("running", ContainerStatus=container, PortStatus=ports), NetworksAttachments=attached)
    (instance,) = read_target(service(size=1), [one], [node()]).instances
    assert instance.name == f"web.1.{one['ID']}"
    assert instance.identities == {
        one["ID"],
        instance.name,
        "web.1",
        CONTAINER_ID,
        CONTAINER_ID[:12],
        "10.0.1.3",
        "vm",
        "vm:32769",
        "10.0.0.5:32769",
    }


def test_a_nodes_address_alone_names_no_task() -> None:
    """Without its port, a sample of an ended task would match the remaining one."""
    (instance,) = read_target(service(size=1), [task()], [node()]).instances
    assert "10.0.0.5" not in instance.identities


def test_reservations_are_requests() -> None:
    """Utilization is relative to a task's reservation: cores and bytes, in thousandths."""
    resources = {"Limits": {"NanoCPUs": 9}, "Reservations": {"NanoCPUs": 500_000_000, "MemoryBytes": 64 << 20}}
    (instance,) = read_target(service(size=1), [task(Spec={"Resources": resources})], [node()]).instances
    assert instance.requests == {"cpu": 500, "memory": (64 << 20) * 1000}


@pytest.mark.parametrize("resources", [{}, {"Resources": None}, {"Resources": {"Reservations": {"NanoCPUs": 0}}}])
def test_without_a_reservation_there_is_no_request(resources: dict[str, Any]) -> None:
    """A request of 0 would be a division by zero."""
    (instance,) = read_target(service(size=1), [task(Spec=resources)], [node()]).instances
    assert instance.requests == {}


def test_times_are_the_engines_own() -> None:
    """Readiness counts from the time when Swarm saw the task run, age from its creation."""
    (instance,) = read_target(service(size=1), [task()], [node()]).instances
    assert instance.ready_transition == datetime(2026, 11, 21, 13, 59, 32, 124807, UTC)
    assert instance.started_at == datetime(2026, 11, 21, 13, 59, 31, 33666, UTC)


def test_gos_zero_time_is_no_time() -> None:
    """The year 1 would exceed any start-up period."""
    (instance,) = read_target(service(size=1), [task(CreatedAt="0001-01-01T00:00:00Z")], [node()]).instances
    assert instance.started_at is None


@pytest.mark.parametrize(
    ("state", "reason"),
    [
        ("updating", "RolloutInProgress"),
        ("paused", "RolloutPaused"),
        ("rollback_started", "RollbackInProgress"),
        ("rollback_paused", "RollbackPaused"),
    ],
)
def test_a_rollout_holds_both_directions(state: str, reason: str) -> None:
    """Another spec during a rollout would replace its rollback target."""
    held = read_target(service(UpdateStatus={"State": state, "Message": "why"}), [], []).hold
    assert held.scale_in is not None
    assert held.scale_in == held.scale_out
    assert held.scale_in.reason == reason
    assert "why" in held.scale_in.message


@pytest.mark.parametrize("state", ["completed", "rollback_completed"])
def test_a_rollout_that_is_over_holds_nothing(state: str) -> None:
    """The service keeps the status until the next rollout."""
    assert read_target(service(UpdateStatus={"State": state}), [], []).hold == Hold()


def test_a_task_that_the_scheduler_has_not_looked_at_yet_is_not_unplaced() -> None:
    """Every new task is pending briefly."""
    waiting = task("pending", Status=status("pending", Message="pending task scheduling"))
    assert read_target(service(size=1), [waiting], [node()]).hold == Hold()


def test_warnings_say_what_keeps_tasks_from_being_placed() -> None:
    """The operator sees in the warning that a node is drained."""
    limited = service(size=5)
    limited["Spec"]["TaskTemplate"]["Placement"] = {"MaxReplicas": 2}
    unplaced = task("pending", Status=status("pending", Err="no suitable node"))
    nodes = [node(), node("b", availability="drain"), node("c", state="down")]
    assert read_target(limited, [unplaced], nodes).warnings == (
        "nodes that take no tasks: b (drain), c (down)",
        "max_replicas_per_node 2 on 1 nodes has room for 2 of 5",
    )


def test_a_drained_node_is_no_warning_while_everything_is_placed() -> None:
    """Managers are often drained permanently."""
    assert read_target(service(size=1), [task()], [node("b", availability="drain")]).warnings == ()


def test_a_task_on_a_node_that_is_down_says_so() -> None:
    """The task appears to run, and its real state is unknown."""
    (instance,) = read_target(service(size=1), [task()], [node(state="down")]).instances
    assert instance.detail == "on node vm (down)"


def test_the_revision_outlives_the_version_index_and_nothing_else() -> None:
    """The engine changes the index during a rollout; only a changed spec or another service is a change."""
    first = service()
    assert revision(service(Version={"Index": 99}, UpdateStatus={"State": "completed"})) == revision(first)
    assert revision(service(size=3)) != revision(first)
    assert revision(service(ID="another")) != revision(first)


@pytest.mark.parametrize(
    ("running", "tasks", "rest"),
    [
        (2, [task(slot=1), task(slot=2)], True),
        (3, [task(slot=1), task(slot=2)], False),
        (1, [task(slot=1), task("pending", slot=2)], False),
        (0, [], True),
    ],
)
def test_a_service_is_at_rest_when_all_that_runs_is_listed(running: int, tasks: list[Any], rest: bool) -> None:
    """Only otherwise are the replaced tasks listed, which may be many."""
    assert at_rest(service(running=running), tasks) is rest


NEW_IMAGE: dict[str, Any] = {"TaskTemplate": {"Placement": {}, "ContainerSpec": {"Image": "web:2"}}}


def updated(size: int, before: int, state: str = "updating", **spec: Any) -> dict[str, Any]:
    """Return a service whose size and `spec` were changed."""
    found = service(size=before)
    mode = {"Mode": {"Replicated": {"Replicas": size}}}
    after = {"PreviousSpec": found["Spec"], "Spec": {**found["Spec"], **mode, **spec}}
    return {**found, **after, "UpdateStatus": {"State": state}}


def test_a_stack_that_resets_the_size_is_told_from_scaling() -> None:
    """`docker stack deploy` sets the file's replicas with the new image; scaling changes the size alone."""
    reset = read_target(updated(1, 40, **NEW_IMAGE), [], [node()]).deployment
    assert reset is not None
    assert (reset.before, reset.rollback) == (40, False)
    assert "docker service update --image" in reset.remedy
    assert read_target(updated(1, 40), [], [node()]).deployment is None
    created = read_target(service(), [], [node()]).deployment
    assert created is not None
    assert created.before == 0
    kept = read_target(updated(40, 40, **NEW_IMAGE), [], [node()]).deployment
    assert kept is not None
    assert kept.before == 40
    assert kept.id != reset.id


@pytest.mark.parametrize("state", ["rollback_started", "rollback_paused", "rollback_completed"])
def test_a_rollback_of_a_stack_is_a_rollback(state: str) -> None:
    found = read_target(updated(1, 40, state, **NEW_IMAGE), [], [node()]).deployment
    assert found is not None
    assert found.rollback


@pytest.mark.parametrize(("state", "free"), [("updating", True), ("paused", True), ("rollback_started", False)])
def test_a_scale_out_may_be_preferred_to_the_rollback_target(state: str, free: bool) -> None:
    """An operator who cannot wait for a slow rollout gives up its rollback. The warning says this."""
    found = read_target(updated(1, 40, state, **NEW_IMAGE), [], [node()], OnRollout.ALLOW_SCALE_OUT)
    assert (found.hold.scale_out is None) is free
    assert found.hold.scale_in is not None
    assert any("roll back" in warning for warning in found.warnings) is free


def test_a_stack_is_named_before_it_resets_a_size() -> None:
    """`check --live` says so, with the remedy."""
    one = service()
    one["Spec"]["Labels"] = {"com.docker.stack.namespace": "shop"}
    found = read_target(one, [], [node()]).reset_by
    assert "the stack shop" in found
    assert "autoscaler get NAME -o size" in found
    assert read_target(service(), [], [node()]).reset_by == ""
