"""Allocations as instances of the contract."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

from adapters.nomad.entries import AllocationEntry, LongAllocation
from autoscaler.target import Instance, Phase

_MEBIBYTE: Final = 2**20
_PHASES: Final = {
    "pending": Phase.PENDING,
    "running": Phase.RUNNING,
    "unknown": Phase.RUNNING,  # its node is disconnected: the allocation may still run
    "failed": Phase.FAILED,
}
LISTED: Final = (
    'ClientStatus == "running" or ClientStatus == "pending" or ClientStatus == "unknown"'
    ' or (ClientStatus == "failed" and DesiredStatus == "run" and NextAllocation == "")'
)
"""Filter of the allocations that count: not complete, not lost, and not replaced."""


@dataclass(frozen=True, slots=True)
class Details:
    """The fields of an allocation that only its long form has."""

    modify_index: int
    """ModifyIndex of the allocation when this was read."""
    identities: frozenset[str]
    requests: Mapping[str, int]
    container_requests: Mapping[str, Mapping[str, int]]
    started_at: datetime | None
    tasks: str
    """Tasks that do not run as they should, with Nomad's reasons."""


def parse_details(allocation: LongAllocation) -> Details:
    """Return the details. Raises KeyError, TypeError, AttributeError or ValueError for an invalid allocation."""
    resources = allocation.resources or {}
    states = allocation.task_states or {}
    tasks = {name: _reservation(task) for name, task in (resources.get("Tasks") or {}).items()}
    lifecycles = resources.get("TaskLifecycles") or {}
    lasting = [own for name, own in tasks.items() if (lifecycles.get(name) or {"Sidecar": True})["Sidecar"]]
    starts = [_time(state["StartedAt"]) for state in states.values() if state.get("StartedAt")]
    return Details(
        modify_index=allocation.modify_index,
        identities=frozenset(_addresses(resources.get("Shared") or {})),
        requests={name: sum(own[name] for own in lasting) for name in ("cpu_mhz", "memory")} if lasting else {},
        container_requests=tasks,
        started_at=min(starts, default=None),
        tasks="; ".join(f"task {name}: {trouble}" for name, state in states.items() if (trouble := _trouble(state))),
    )


def to_instance(entry: AllocationEntry, details: Details, unjudged_since: int | None) -> Instance:
    """Return the allocation as an instance.

    `unjudged_since`: create index of the job's active deployment, if any. An allocation that the deployment placed and
    has not found healthy yet is not ready, like a pod whose readiness probe has not passed.
    """
    health = entry.health
    phase = _PHASES[entry.client_status]
    ready, changed, why = None, None, ""
    if phase is not Phase.RUNNING:
        ready, why = False, entry.client_description or ""
    elif entry.client_status == "unknown":
        ready, why = False, "its node is disconnected"
    elif health is not None and health.healthy is not None:
        ready, changed = health.healthy, _time(health.timestamp) if health.timestamp else None
        why = "" if ready else "its deployment found it unhealthy"
    elif unjudged_since is not None and entry.create_index >= unjudged_since:
        ready, why = False, "its deployment has not found it healthy yet"
    names = {entry.id, entry.id[:8], entry.name, entry.node or ""} - {""}
    return Instance(
        name=entry.id,
        phase=phase,
        ready=ready,
        ready_transition=changed,
        started_at=details.started_at,
        deleting=phase is not Phase.FAILED and entry.desired_status != "run",
        identities=details.identities | names,
        requests=details.requests,
        container_requests=details.container_requests,
        detail="; ".join(filter(None, (why, details.tasks))),
    )


def is_canary(entry: AllocationEntry) -> bool:
    """Return whether the allocation is a canary, which runs in addition to the group's count."""
    return entry.health is not None and entry.health.canary


def _reservation(task: Mapping[str, Any]) -> dict[str, int]:
    """Return thousandths of MHz and of bytes."""
    return {"cpu_mhz": task["Cpu"]["CpuShares"] * 1000, "memory": task["Memory"]["MemoryMB"] * _MEBIBYTE * 1000}


def _addresses(shared: Mapping[str, Any]) -> set[str]:
    """Yield the host addresses of its ports, with and without the port."""
    found = set()
    for port in shared.get("Ports") or ():
        if host := port.get("HostIP"):
            found |= {host, f"[{host}]:{port['Value']}" if ":" in host else f"{host}:{port['Value']}"}
    return found


def _trouble(state: Mapping[str, Any]) -> str:
    """Return why a task is not as it should be, by its last event; empty: it runs, or completed."""
    if state["State"] == "running" or (state["State"] == "dead" and not state["Failed"]):
        return ""
    last = (state.get("Events") or [{}])[-1]
    return str(last.get("DisplayMessage") or state["State"])


def _time(text: str) -> datetime:
    """Return the time. Nomad writes nanoseconds and the agent's UTC offset."""
    return datetime.fromisoformat(text).astimezone(UTC)
