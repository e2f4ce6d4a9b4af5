"""Allocations as instances: what a pod is to Kubernetes."""

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
    "unknown": Phase.RUNNING,  # its node is disconnected: as far as anybody knows it runs
    "failed": Phase.FAILED,
}
LISTED: Final = (
    'ClientStatus == "running" or ClientStatus == "pending" or ClientStatus == "unknown"'
    ' or (ClientStatus == "failed" and DesiredStatus == "run" and NextAllocation == "")'
)
"""Filter of the allocations that count: what has ended well, is lost, or has a successor already does not."""


@dataclass(frozen=True, slots=True)
class Details:
    """What only the long form of an allocation has."""

    modify_index: int
    """The allocation's ModifyIndex when this was read."""
    identities: frozenset[str]
    requests: Mapping[str, int]
    container_requests: Mapping[str, Mapping[str, int]]
    started_at: datetime | None
    tasks: str
    """Tasks that do not run as they should, and why, in Nomad's words."""


def parse_details(allocation: LongAllocation) -> Details:
    """Of the long form. Raises KeyError, TypeError, AttributeError or ValueError for what is none."""
    resources = allocation.resources or {}
    states = allocation.task_states or {}
    tasks = {name: _reservation(task) for name, task in (resources.get("Tasks") or {}).items()}
    lifecycles = resources.get("TaskLifecycles") or {}
    lasting = [own for name, own in tasks.items() if (lifecycles.get(name) or {"Sidecar": True})["Sidecar"]]
    starts = [_time(state["StartedAt"]) for state in states.values() if state.get("StartedAt")]
    return Details(
        modify_index=allocation.modify_index,
        identities=frozenset(_addresses(resources.get("Shared") or {})),
        requests={name: sum(own[name] for own in lasting) for name in ("cpu", "memory")} if lasting else {},
        container_requests=tasks,
        started_at=min(starts, default=None),
        tasks="; ".join(f"task {name}: {trouble}" for name, state in states.items() if (trouble := _trouble(state))),
    )


def to_instance(entry: AllocationEntry, details: Details, unjudged_since: int | None) -> Instance:
    """The allocation as an instance.

    `unjudged_since`: the create index of the job's active deployment, if there is one: what it placed and has not
    judged healthy yet is not ready, as a pod whose readiness probe has not passed.
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
    """Whether it runs beside the group's count until its deployment is promoted."""
    return entry.health is not None and entry.health.canary


def _reservation(task: Mapping[str, Any]) -> dict[str, int]:
    """Thousandths: `cpu` of MHz, `memory` of bytes."""
    return {"cpu": task["Cpu"]["CpuShares"] * 1000, "memory": task["Memory"]["MemoryMB"] * _MEBIBYTE * 1000}


def _addresses(shared: Mapping[str, Any]) -> set[str]:
    """Host addresses of its ports, with and without the port."""
    found = set()
    for port in shared.get("Ports") or ():
        if host := port.get("HostIP"):
            found |= {host, f"[{host}]:{port['Value']}" if ":" in host else f"{host}:{port['Value']}"}
    return found


def _trouble(state: Mapping[str, Any]) -> str:
    """Why a task is not as it should be, by its last event; empty: it runs, or has ended well."""
    if state["State"] == "running" or (state["State"] == "dead" and not state["Failed"]):
        return ""
    last = (state.get("Events") or [{}])[-1]
    return str(last.get("DisplayMessage") or state["State"])


def _time(text: str) -> datetime:
    """Nomad writes nanoseconds, and the agent's own offset."""
    return datetime.fromisoformat(text).astimezone(UTC)
