"""A job as Nomad describes it, reduced to what scaling needs."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from autoscaler.target import Limits

_NOT_SCALABLE: Final = {
    "system": "a system job runs once on every node",
    "sysbatch": "a sysbatch job runs once on every node",
}


class JobKey(NamedTuple):
    """What tells jobs of one region apart."""

    namespace: str
    id: str


@dataclass(frozen=True, slots=True)
class Group:
    """One task group."""

    count: int
    limits: Limits
    policy: bool
    """Whether its scaling stanza has an enabled policy, which the Nomad Autoscaler acts on."""


@dataclass(frozen=True, slots=True)
class Job:
    """One job."""

    create_index: int
    """Another one: a job that was purged and registered again."""
    modify_index: int
    """JobModifyIndex: moves with every change of the specification, and only then. What a write is guarded by."""
    groups: Mapping[str, Group]
    obstacle: str | None
    """Why no group of it can ever be scaled; None: they can."""


def parse_job(raw: Mapping[str, Any]) -> Job:
    """The answer of GET /v1/job/:id. Raises KeyError, TypeError or AttributeError for what is none."""
    return Job(
        create_index=_whole(raw["CreateIndex"]),
        modify_index=_whole(raw["JobModifyIndex"]),
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
    """Raises TypeError for what is not a whole number."""
    if type(number) is not int:
        raise TypeError(f"expected a whole number, found {type(number).__name__}")
    return number


def _obstacle(raw: Mapping[str, Any]) -> str | None:
    if raw["Stop"]:  # Nomad accepts a new count for it, and starts nothing
        return "it is stopped; start it with `nomad job start`"
    if raw["Type"] in _NOT_SCALABLE:
        return f"{_NOT_SCALABLE[raw['Type']]}; only service and batch jobs have a count to set"
    if raw.get("Periodic"):
        return "it is periodic: each launch is a job of its own with the count that is written in it"
    if raw.get("ParameterizedJob"):
        return "it is parameterized: each dispatch is a job of its own with the count that is written in it"
    return None
