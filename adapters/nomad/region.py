"""One region's jobs, deployments and allocations, read in batches; what has not changed is kept.

A quiet cycle costs three small requests, however many groups are scaled: whether the lists of jobs, of deployments and
of allocations have moved. A job is read again when its JobModifyIndex moved, an allocation's long form when its
ModifyIndex did; and the view of a job of which all is as it was is the one of the last cycle.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import quote

from adapters.nomad.allocations import LISTED, Details, is_canary, parse_details, to_instance
from adapters.nomad.client import NomadClient, NomadRefusal
from adapters.nomad.entries import AllocationEntry, DeploymentEntry, JobEntry, LongAllocation
from adapters.nomad.jobs import Job, JobKey, parse_job
from adapters.nomad.lists import Listing
from autoscaler.target import Call, Instance, TargetError, TargetNotFound, TargetState, TargetUnavailable

ACTIVE: Final = 'Status != "successful" and Status != "failed" and Status != "cancelled"'
"""Filter of the deployments that block scaling. One that was garbage collected is none."""
_LONG_PER_PAGE: Final = 1000
"""Entries a page of allocations with everything: each may take tens of kilobytes."""
_READ_ONE_BY_ONE: Final = 25
"""Up to so many changed allocations are read singly; beyond, the whole list with everything is cheaper."""


@dataclass(frozen=True, slots=True)
class JobView:
    """One job as this cycle sees it: the same object for as long as nothing of it changes."""

    job: Job
    deployment: DeploymentEntry | None
    """The one under way."""
    instances: Mapping[str, tuple[Instance, ...]]
    """By group; canaries are left out."""
    queued: Mapping[str, int]
    """By group: allocations that found no place."""
    states: dict[str, TargetState] = field(default_factory=dict, compare=False)
    """By group: what was made of it for who asked."""


@dataclass(frozen=True, slots=True)
class _Source:
    """What a view is made of. Details are part of it: they belong to an allocation's modify index."""

    job: Job
    entry: JobEntry
    deployments: Sequence[DeploymentEntry]
    allocations: Sequence[AllocationEntry]


class Region:
    """The caches of one region."""

    def __init__(self, client: NomadClient, name: str | None) -> None:
        self._client = client
        self._name = name
        self._job_list = Listing(client, "/v1/jobs", JobEntry, id_field="ID")
        self._deployment_list = Listing(client, "/v1/deployments", DeploymentEntry, id_field="JobID", only=ACTIVE)
        self._allocation_list = Listing(
            client,
            "/v1/allocations",
            AllocationEntry,
            id_field="JobID",
            only=LISTED,
            options={"task_states": "false"},
        )
        self._long_list = Listing(
            client,
            "/v1/allocations",
            LongAllocation,
            id_field="JobID",
            only=LISTED,
            options={"resources": "true", "task_states": "true", "per_page": str(_LONG_PER_PAGE)},
        )
        self._jobs: dict[JobKey, Job] = {}
        self._details: dict[JobKey, dict[str, Details]] = {}
        self._views: dict[JobKey, tuple[_Source, JobView]] = {}

    def query(self, namespace: str) -> dict[str, str | None]:
        """The parameters that every request carries: without its namespace Nomad would look into `default`."""
        return {"region": self._name, "namespace": namespace}

    def read(self, keys: frozenset[JobKey], call: Call) -> Mapping[JobKey, JobView | TargetError]:
        """Every job asked for, or what is wrong with it alone. Raises TargetError: it concerns all."""
        try:
            with unavailable_if_malformed("a list"):
                return self._read(keys, call)
        except NomadRefusal as refusal:
            raise refusal.as_target_error() from None

    def read_job(self, key: JobKey, call: Call) -> Job:
        """The job as it is now. Raises TargetError."""
        try:
            raw = self._client.get(job_path(key), self.query(key.namespace), call, dict[str, Any])
        except NomadRefusal as refusal:
            raise (not_found(key) if refusal.status == 404 else refusal.as_target_error()) from None
        with unavailable_if_malformed(f'job "{key.id}"'):
            return parse_job(raw)

    def _read(self, keys: frozenset[JobKey], call: Call) -> Mapping[JobKey, JobView | TargetError]:
        namespaces = {key.namespace for key in keys}
        query = self.query(namespaces.pop() if len(namespaces) == 1 else "*")
        entries = self._job_list.read(keys, query, call)
        deployments = self._deployment_list.read(keys, query, call)
        allocations = self._allocation_list.read(keys, query, call)
        self._refresh_details(keys, allocations, query, call)
        views: dict[JobKey, JobView | TargetError] = {}
        for key in keys:
            if key not in entries:
                self._forget(key)
                views[key] = not_found(key)
                continue
            (entry,) = entries[key]
            try:
                job = self._job(key, entry.job_modify_index, call)
            except TargetError as error:
                views[key] = error
                continue
            source = _Source(job, entry, deployments.get(key, ()), allocations.get(key, ()))
            views[key] = self._view(key, source)
        return views

    def _forget(self, key: JobKey) -> None:
        for kept in (self._jobs, self._details, self._views):
            kept.pop(key, None)

    def _job(self, key: JobKey, modify_index: int, call: Call) -> Job:
        """The job, from what is kept unless its index moved. Raises TargetError."""
        known = self._jobs.get(key)
        if known is None or known.modify_index != modify_index:
            known = self._jobs[key] = self.read_job(key, call)
        return known

    def _refresh_details(
        self,
        keys: frozenset[JobKey],
        allocations: Mapping[JobKey, Sequence[AllocationEntry]],
        query: Mapping[str, str | None],
        call: Call,
    ) -> None:
        """Read the long form of what is new or changed, and forget what is gone. Raises TargetError or NomadRefusal."""
        changed: dict[str, JobKey] = {}
        for key in keys:
            listed = allocations.get(key, ())
            if key in self._views and self._views[key][0].allocations == listed:
                continue
            kept, self._details[key] = self._details.get(key, {}), {}
            for entry in listed:
                details = kept.get(entry.id)
                if details is not None and details.modify_index == entry.modify_index:
                    self._details[key][entry.id] = details
                else:
                    changed[entry.id] = key
        if len(changed) > _READ_ONE_BY_ONE:
            everything, _ = self._long_list.read_whole(frozenset(changed.values()), query, call)
            for key, entries in everything.items():
                self._details[key] |= {entry.id: parse_details(entry) for entry in entries}
        else:
            self._read_details(changed, call)

    def _read_details(self, changed: Mapping[str, JobKey], call: Call) -> None:
        for allocation, key in changed.items():
            try:
                long = self._client.get(f"/v1/allocation/{allocation}", self.query(key.namespace), call, LongAllocation)
            except NomadRefusal as refusal:
                if refusal.status != 404:  # collected since it was listed: it is gone
                    raise
            else:
                self._details[key][allocation] = parse_details(long)

    def _view(self, key: JobKey, source: _Source) -> JobView:
        """The last one, unless something that it is made of has changed."""
        if key in self._views and self._views[key][0] == source:
            return self._views[key][1]
        job = source.job
        deployment = next((one for one in source.deployments if one.job_create_index == job.create_index), None)
        unjudged_since = None if deployment is None else deployment.create_index
        instances: dict[str, list[Instance]] = defaultdict(list)
        for one in source.allocations:
            details = self._details[key].get(one.id)
            if details is not None and not is_canary(one):
                instances[one.group].append(to_instance(one, details, unjudged_since))
        summary = source.entry.summary
        groups = (None if summary is None else summary.groups) or {}
        view = JobView(
            job,
            deployment,
            {group: tuple(them) for group, them in instances.items()},
            {group: numbers.queued for group, numbers in groups.items()},
        )
        self._views[key] = source, view
        return view


def job_path(key: JobKey, verb: str = "") -> str:
    """The path of a job, whose id may hold anything but spaces."""
    return f"/v1/job/{quote(key.id, safe='')}{verb}"


def not_found(key: JobKey) -> TargetNotFound:
    """What to say of a job that is not there."""
    return TargetNotFound(
        f'there is no job "{key.id}" in namespace "{key.namespace}", or the ACL token may not read it; '
        "register it, or correct the target's name, namespace or region"
    )


@contextmanager
def unavailable_if_malformed(what: str) -> Iterator[None]:
    """Raise TargetUnavailable, naming `what`, where the block finds another shape than Nomad's API documents."""
    try:
        yield
    except (KeyError, IndexError, TypeError, AttributeError, ValueError) as error:
        raise TargetUnavailable(
            f"Nomad's answer for {what} is not understood ({type(error).__name__}: {error}); "
            "is this address an agent's?"
        ) from error
