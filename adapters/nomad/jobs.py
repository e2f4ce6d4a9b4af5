"""A job with the fields that scaling needs."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, NamedTuple
from urllib.parse import quote

from autoscaler.target import Limits, TargetRef

_NOT_SCALABLE: Final = {
    "system": "a system job runs once on every node",
    "sysbatch": "a sysbatch job runs once on every node",
}


class JobKey(NamedTuple):
    """Identifies a job within a region."""

    namespace: str
    id: str


@dataclass(frozen=True, slots=True)
class Group:
    """One task group."""

    count: int
    limits: Limits
    policy: bool
    """Whether its scaling block has an enabled policy, on which the Nomad Autoscaler acts."""


@dataclass(frozen=True, slots=True)
class Job:
    """A job of Nomad."""

    create_index: int
    """Differs when a job was purged and registered again."""
    modify_index: int
    """JobModifyIndex, which changes with every change of the specification and guards a write."""
    version: int
    """Counts the changes of the specification from 0."""
    submitted: int
    """SubmitTime in nanoseconds: when the version was registered, or its count set. An automatic revert keeps it."""
    stopped: bool
    groups: Mapping[str, Group]
    obstacle: str | None
    """Why no group of the job can be scaled; None: they can."""


def parse_job(raw: Mapping[str, Any]) -> Job:
    """Return the job of an answer to GET /v1/job/:id. Raises KeyError, TypeError or AttributeError."""
    return Job(
        create_index=_whole(raw["CreateIndex"]),
        modify_index=_whole(raw["JobModifyIndex"]),
        version=_whole(raw["Version"]),
        submitted=_whole(raw["SubmitTime"]),
        stopped=bool(raw["Stop"]),
        groups={group["Name"]: _parse_group(group) for group in raw["TaskGroups"] or ()},
        obstacle=_obstacle(raw),
    )


def _parse_group(raw: Mapping[str, Any]) -> Group:
    scaling = raw.get("Scaling")
    count = _whole(raw["Count"])
    if not scaling:
        return Group(count, Limits(), policy=False)
    least, most = _whole(scaling["Min"] or 0), scaling["Max"]
    limits = Limits(least, None if most is None else _whole(most), "the min and max of the group's scaling block")
    return Group(count, limits, policy=bool(scaling.get("Policy") and scaling.get("Enabled")))


def _whole(number: Any) -> int:
    """Return the whole number. Raises TypeError for another value."""
    if type(number) is not int:
        raise TypeError(f"expected a whole number, found {type(number).__name__}")
    return number


def _obstacle(raw: Mapping[str, Any]) -> str | None:
    if raw["Stop"]:  # Nomad accepts a new count for a stopped job and starts nothing
        return "it is stopped; start it with `nomad job start`"
    if raw["Type"] in _NOT_SCALABLE:
        return f"{_NOT_SCALABLE[raw['Type']]}; only service and batch jobs have a count to set"
    if raw.get("Periodic"):
        return "it is periodic: each launch is a job of its own with the count that is written in it"
    if raw.get("ParameterizedJob"):
        return "it is parameterized: each dispatch is a job of its own with the count that is written in it"
    return None


def job_and_group(target: TargetRef) -> tuple[str, str]:
    """Return the job's id and the group's name. A target in a file has one text, which is split at its last slash."""
    if target.parts:
        job, group = target.parts
    else:
        job, _, group = target.name.rpartition("/")
    return job, group


def job_path(key: JobKey, verb: str = "") -> str:
    """Return a job's path. The id may contain anything except spaces."""
    return f"/v1/job/{quote(key.id, safe='')}{verb}"
