"""The entries of Nomad's lists with the fields that the adapter uses. The decoder skips all other fields."""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from msgspec import Struct, field


class Entry(Protocol):
    """An entry of any list."""

    @property
    def namespace(self) -> str:
        """Namespace of its job."""

    @property
    def job(self) -> str:
        """Id of its job."""


class GroupSummary(Struct, frozen=True, gc=False):
    """One group's allocations by status."""

    queued: int = field(name="Queued", default=0)


class JobSummary(Struct, frozen=True):
    """One job's allocations by group."""

    groups: Mapping[str, GroupSummary] | None = field(name="Summary", default=None)


class JobEntry(Struct, frozen=True):
    """An entry of GET /v1/jobs."""

    namespace: str = field(name="Namespace")
    job: str = field(name="ID")
    job_modify_index: int = field(name="JobModifyIndex")
    summary: JobSummary | None = field(name="JobSummary", default=None)


class DeploymentEntry(Struct, frozen=True, gc=False):
    """An entry of GET /v1/deployments."""

    namespace: str = field(name="Namespace")
    job: str = field(name="JobID")
    id: str = field(name="ID")
    create_index: int = field(name="CreateIndex")
    job_create_index: int = field(name="JobCreateIndex")
    job_version: int = field(name="JobVersion")
    status: str = field(name="Status")
    description: str | None = field(name="StatusDescription", default=None)


class PolicyEntry(Struct, frozen=True, gc=False):
    """An entry of GET /v1/scaling/policies."""

    id: str = field(name="ID")
    modify_index: int = field(name="ModifyIndex")
    target: Mapping[str, str] = field(name="Target")
    """With the keys Namespace, Job and Group, if the policy is a group's."""


class ScalingEvent(Struct, frozen=True, gc=False):
    """An event of GET /v1/job/:id/scale."""

    time: int = field(name="Time")
    """Nanoseconds; equal to the SubmitTime of the job's version that a change of the count made."""
    count: int | None = field(name="Count", default=None)
    """None: a message, which changed nothing."""


class GroupScaling(Struct, frozen=True):
    """One group's latest events."""

    events: Sequence[ScalingEvent] | None = field(name="Events", default=None)


class JobScaling(Struct, frozen=True):
    """The answer of GET /v1/job/:id/scale."""

    groups: Mapping[str, GroupScaling] = field(name="TaskGroups")


class Health(Struct, frozen=True, gc=False):
    """A deployment's verdict on an allocation."""

    healthy: bool | None = field(name="Healthy", default=None)
    timestamp: str | None = field(name="Timestamp", default=None)
    """None: not judged yet."""
    canary: bool = field(name="Canary", default=False)


class AllocationEntry(Struct, frozen=True):
    """An entry of GET /v1/allocations."""

    namespace: str = field(name="Namespace")
    job: str = field(name="JobID")
    id: str = field(name="ID")
    name: str = field(name="Name")
    group: str = field(name="TaskGroup")
    client_status: str = field(name="ClientStatus")
    desired_status: str = field(name="DesiredStatus")
    create_index: int = field(name="CreateIndex")
    modify_index: int = field(name="ModifyIndex")
    node: str | None = field(name="NodeName", default=None)
    client_description: str | None = field(name="ClientDescription", default=None)
    health: Health | None = field(name="DeploymentStatus", default=None)


class LongAllocation(Struct, frozen=True):
    """An entry of GET /v1/allocations with resources and task states, or the answer of GET /v1/allocation/:id."""

    namespace: str = field(name="Namespace")
    job: str = field(name="JobID")
    id: str = field(name="ID")
    modify_index: int = field(name="ModifyIndex")
    resources: Mapping[str, Any] | None = field(name="AllocatedResources", default=None)
    task_states: Mapping[str, Any] | None = field(name="TaskStates", default=None)


class NodeEntry(Struct, frozen=True, gc=False):
    """An entry of GET /v1/nodes."""

    id: str = field(name="ID")


class LastDrain(Struct, frozen=True):
    """The last drain of a node. Nomad keeps it when the drain has ended."""

    status: str = field(name="Status")
    meta: Mapping[str, str] | None = field(name="Meta", default=None)


class LongNode(Struct, frozen=True):
    """The answer of GET /v1/node/:id."""

    id: str = field(name="ID")
    status: str = field(name="Status")
    eligibility: str = field(name="SchedulingEligibility")
    http_address: str = field(name="HTTPAddr")
    """As HOST:PORT."""
    attributes: Mapping[str, str] = field(name="Attributes")
    drain: Mapping[str, Any] | None = field(name="DrainStrategy")
    """The drain under way."""
    last_drain: LastDrain | None = field(name="LastDrain", default=None)


class DesiredTransition(Struct, frozen=True, gc=False):
    """What Nomad is about to do with an allocation."""

    migrate: bool | None = field(name="Migrate", default=None)


class NodeAllocation(Struct, frozen=True, gc=False):
    """An entry of GET /v1/allocations, for a node."""

    desired_status: str = field(name="DesiredStatus")
    transition: DesiredTransition = field(name="DesiredTransition")
