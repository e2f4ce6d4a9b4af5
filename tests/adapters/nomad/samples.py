"""Objects as Nomad 1.11 sends them, with the fields that matter; `changes` replace whole fields."""

from typing import Any


def listed_job(name: str, **changes: Any) -> dict[str, Any]:
    """An entry of GET /v1/jobs."""
    summary = {"Summary": {"work": {"Queued": 0}}}
    return {"Namespace": "default", "ID": name, "JobModifyIndex": 7, "JobSummary": summary, **changes}


def job(name: str, count: object = 1) -> dict[str, Any]:
    """The answer of GET /v1/job/:id."""
    indexes = {"CreateIndex": 5, "JobModifyIndex": 7, "Version": 3, "SubmitTime": 1}
    groups = [{"Name": "work", "Count": count}]
    return {**indexes, "ID": name, "Stop": False, "Type": "service", "TaskGroups": groups}


def allocation(name: str, **changes: Any) -> dict[str, Any]:
    """An entry of GET /v1/allocations, of this job."""
    return {
        "Namespace": "default",
        "JobID": name,
        "ID": f"{name}-1",
        "Name": f"{name}.work[0]",
        "TaskGroup": "work",
        "ClientStatus": "running",
        "DesiredStatus": "run",
        "CreateIndex": 8,
        "ModifyIndex": 9,
        **changes,
    }


def long_allocation(name: str, **changes: Any) -> dict[str, Any]:
    """The answer of GET /v1/allocation/:id, of this job."""
    task = {"Cpu": {"CpuShares": 100}, "Memory": {"MemoryMB": 64}}
    started = {"State": "running", "Failed": False, "StartedAt": "2026-11-20T00:00:00Z"}
    long = {"AllocatedResources": {"Tasks": {"web": task}}, "TaskStates": {"web": started}}
    return {**allocation(name), **long, **changes}


def deployment(name: str) -> dict[str, Any]:
    """An entry of GET /v1/deployments, of this job."""
    ids = {"Namespace": "default", "JobID": name, "ID": f"{name}-d"}
    return {**ids, "CreateIndex": 6, "JobCreateIndex": 5, "JobVersion": 3, "Status": "running"}
