"""Turns an engine's raw objects into the contract's values, without requests.

Source: Docker Engine API 1.41, objects Service, Task and Node; "Swarm task states" in Docker's documentation.
"""

import hashlib
import json
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import Any, Final

from adapters.docker_swarm.raw import Raw
from adapters.docker_swarm.rollouts import OnRollout, deployment, reset_by, rollout, rollout_warning
from autoscaler.target import Hold, HoldReason, Instance, Milli, Phase, TargetNotScalable, TargetState

_FAILED: Final = frozenset({"failed", "rejected"})
_GONE: Final = frozenset({"complete", "shutdown", "orphaned", "remove"})
_LEAVING: Final = frozenset({"shutdown", "remove"})


def replicas(service: Raw) -> int:
    """Return the desired number of replicas. Raises TargetNotScalable when the service has none."""
    mode = service["Spec"]["Mode"]
    if "Replicated" not in mode:
        kind = ", ".join(mode) or "unknown"
        raise TargetNotScalable(
            f"service {service['Spec']['Name']} is of mode {kind}, and only Replicated services have a size; "
            "create it again as a replicated one, or remove its autoscaler"
        )
    size = mode["Replicated"]["Replicas"]
    if type(size) is not int:
        raise TypeError(f"expected a whole number of replicas, found {type(size).__name__}")
    return size


def revision(service: Raw) -> str:
    """Return a hash of the service and its spec.

    The version index does not serve: it also changes with the progress of a rollout.
    """
    spec = json.dumps(service["Spec"], sort_keys=True).encode()
    return f"{service['ID']}:{hashlib.sha256(spec).hexdigest()[:16]}"


def at_rest(service: Raw, tasks: Sequence[Raw]) -> bool:
    """Return whether all of `tasks`, the staying ones, run and no other tasks remain."""
    running = sum(task["Status"]["State"] == "running" for task in tasks)
    counted = (service.get("ServiceStatus") or {}).get("RunningTasks")
    return bool(running == len(tasks) == counted)


def read_target(
    service: Raw, tasks: Iterable[Raw], nodes: Sequence[Raw], on_rollout: OnRollout = OnRollout.HOLD
) -> TargetState:
    """Return the state of a replicated service. `tasks`: its own; `nodes`: all."""
    size, name = replicas(service), service["Spec"]["Name"]
    relevant, by_id = _relevant(tasks), {node.get("ID"): node for node in nodes}
    instances = tuple(_instance(name, task, by_id.get(task.get("NodeID", ""))) for task in relevant)
    unplaced = [task for task in relevant if _is_unplaced(task)]
    held, endangered = rollout(service, on_rollout), rollout_warning(service, on_rollout)
    warnings = _warnings(service, size, nodes) if unplaced else ()
    return TargetState(
        replicas=size,
        status_replicas=sum(not one.deleting and one.phase is not Phase.FAILED for one in instances),
        instances=instances,
        hold=Hold(held.scale_out or _unplaced_hold(unplaced, size), held.scale_in),
        revision=revision(service),
        warnings=warnings if endangered is None else (*warnings, endangered),
        deployment=deployment(service),
        reset_by=reset_by(service),
    )


def _relevant(tasks: Iterable[Raw]) -> list[Raw]:
    """Return the tasks that have not ended, and the last failure of each slot without a running task; by slot and
    age.
    """
    ordered = sorted(tasks, key=lambda task: (task.get("Slot", 0), task["CreatedAt"], task["ID"]))
    running = {task.get("Slot") for task in ordered if task["Status"]["State"] == "running"}
    last_failed = {task.get("Slot"): task["ID"] for task in ordered if task["Status"]["State"] in _FAILED}
    kept = []
    for task in ordered:
        state, slot = task["Status"]["State"], task.get("Slot")
        if state in _GONE or (state in _FAILED and (slot in running or last_failed[slot] != task["ID"])):
            continue
        kept.append(task)
    return kept


def _instance(service: str, task: Raw, node: Raw | None) -> Instance:
    status = task["Status"]
    running, failed = status["State"] == "running", status["State"] in _FAILED
    name = f"{service}.{task.get('Slot', 0)}.{task['ID']}"
    return Instance(
        name=name,
        phase=Phase.RUNNING if running else Phase.FAILED if failed else Phase.PENDING,
        # With a HEALTHCHECK, Swarm reports `running` once it passes and ends the task when it fails. Without one,
        # Swarm reports it once the process has started; an instance without health information is ready.
        ready=running,
        ready_transition=_time(status.get("Timestamp")) if running else None,
        started_at=_time(task.get("CreatedAt")),
        deleting=not failed and task["DesiredState"] in _LEAVING,
        identities=frozenset(_identities(service, name, task, node)),
        requests=_requests(task),
        detail=_detail(task, node),
    )


def _identities(service: str, name: str, task: Raw, node: Raw | None) -> Iterable[str]:
    """Yield the names in labels of cAdvisor (name, id's last part), dockerswarm_sd (task id, address) and the task."""
    status = task["Status"]
    yield from (task["ID"], name, f"{service}.{task.get('Slot', 0)}")
    container = (status.get("ContainerStatus") or {}).get("ContainerID")
    if container:
        yield from (container, container[:12])  # the short form is the container's own host name
    for attachment in task.get("NetworksAttachments") or ():
        yield from (address.partition("/")[0] for address in attachment.get("Addresses") or ())
    if node is None:
        return
    names = [node["Description"]["Hostname"], (node.get("Status") or {}).get("Addr")]
    yield names[0]  # not the node's address: without a port it would match samples of ended tasks
    for port in (status.get("PortStatus") or {}).get("Ports") or ():
        yield from (f"{host}:{port['PublishedPort']}" for host in names if host and port.get("PublishedPort"))


def _requests(task: Raw) -> dict[str, Milli]:
    reserved: dict[str, Any] = (task["Spec"].get("Resources") or {}).get("Reservations") or {}
    found = {"cpu": reserved.get("NanoCPUs", 0) // 10**6, "memory": reserved.get("MemoryBytes", 0) * 1000}
    return {name: milli for name, milli in found.items() if milli > 0}


def _detail(task: Raw, node: Raw | None) -> str:
    status = task["Status"]
    parts = [] if status["State"] == "running" else [status.get("Err") or status.get("Message") or status["State"]]
    trouble = _trouble(node) if node is not None else None
    return "; ".join([*parts, f"on node {trouble}"] if trouble else parts)


def _is_unplaced(task: Raw) -> bool:
    """Return whether the scheduler found no node for the task."""
    waits = task["Status"]["State"] == "pending" and bool(task["Status"].get("Err"))
    return waits and task["DesiredState"] not in _LEAVING


def _unplaced_hold(unplaced: Sequence[Raw], size: int) -> HoldReason | None:
    if not unplaced:
        return None
    why = unplaced[0]["Status"]["Err"]
    return HoldReason("TasksUnplaced", f"{len(unplaced)} of {size} tasks are not placed yet: {why}")


def _warnings(service: Raw, size: int, nodes: Iterable[Raw]) -> tuple[str, ...]:
    """Return what prevents the placement of tasks, according to the nodes and the service."""
    troubles = [_trouble(node) for node in nodes if _is_described(node)]
    closed = sorted(filter(None, troubles))
    open_nodes = len(troubles) - len(closed)
    warnings = [f"nodes that take no tasks: {', '.join(closed)}"] if closed else []
    most = (service["Spec"]["TaskTemplate"].get("Placement") or {}).get("MaxReplicas", 0)
    if 0 < most * open_nodes < size:
        warnings.append(
            f"max_replicas_per_node {most} on {open_nodes} nodes has room for {most * open_nodes} of {size}"
        )
    return tuple(warnings)


def _is_described(node: Raw) -> bool:
    """Return whether a node has what the API documents. Another one fails only the services with tasks on it."""
    try:
        _trouble(node)
    except (AttributeError, KeyError, TypeError):
        return False
    return True


def _trouble(node: Raw) -> str | None:
    """Return `name (down)` for a node that takes no tasks, else None."""
    state, availability = node["Status"]["State"], node["Spec"]["Availability"]
    words = [state] if state != "ready" else []
    words += [availability] if availability != "active" else []
    return f"{node['Description']['Hostname']} ({', '.join(words)})" if words else None


def _time(text: str | None) -> datetime | None:
    """Return the time; None when it is absent or Go's zero time."""
    if not text or text.startswith("0001-"):
        return None
    return datetime.fromisoformat(text).astimezone(UTC)
