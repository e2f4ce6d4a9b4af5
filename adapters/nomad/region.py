"""The jobs, deployments and allocations of one region, read in batches. Unchanged objects are kept.

When nothing changes, a cycle costs three small requests, one for each list, however many groups are scaled. The adapter
reads a job again when its JobModifyIndex changed, and an allocation's long form when its ModifyIndex changed. An
unchanged job keeps its view from the last cycle.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from adapters.nomad.allocations import LISTED, Details, is_canary, parse_details, to_instance
from adapters.nomad.client import NomadClient, NomadRefusal, refusals_as_target_errors, unavailable_if_malformed
from adapters.nomad.entries import AllocationEntry, DeploymentEntry, JobEntry, LongAllocation
from adapters.nomad.jobs import Job, JobKey, job_path, parse_job
from adapters.nomad.lists import Listing
from adapters.nomad.registrations import Registration, Registrations
from autoscaler.target import Call, Instance, TargetError, TargetNotFound, TargetState

ACTIVE: Final = 'Status != "successful" and Status != "failed" and Status != "cancelled"'
"""Filter of the deployments that block scaling."""
_LONG_PER_PAGE: Final = 1000
"""Entries a page of the long form; each may take tens of kilobytes."""
_READ_ONE_BY_ONE: Final = 25
"""Up to this many changed allocations are read one by one; for more, the whole long list is cheaper."""


@dataclass(frozen=True, slots=True)
class JobView:
    """One job in this cycle; the same object while the job does not change."""

    job: Job
    deployment: DeploymentEntry | None
    """The active deployment."""
    instances: Mapping[str, tuple[Instance, ...]]
    """By group, without canaries."""
    queued: Mapping[str, int]
    """By group: allocations without a node."""
    registration: Registration
    states: dict[str, TargetState] = field(default_factory=dict, compare=False)
    """By group: the states made so far."""


@dataclass(frozen=True, slots=True)
class _Source:
    """The objects of a view. Details are not among them: an allocation's modify index determines them."""

    job: Job
    entry: JobEntry
    deployments: Sequence[DeploymentEntry]
    allocations: Sequence[AllocationEntry]
    registration: Registration


class Region:
    """The cached objects of one region."""

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
        self.registrations = Registrations(client)

    def query(self, namespace: str) -> dict[str, str | None]:
        """Return the parameters of every request. Without a namespace Nomad would look in `default`."""
        return {"region": self._name, "namespace": namespace}

    def read(self, keys: frozenset[JobKey], call: Call) -> Mapping[JobKey, JobView | TargetError]:
        """Return every requested job, or its own error. Raises TargetError that affects all."""
        with refusals_as_target_errors(), unavailable_if_malformed("a list"):
            return self._read(keys, call)

    def read_job(self, key: JobKey, call: Call) -> Job:
        """Return the current job. Raises TargetError."""
        try:
            raw = self._client.get(job_path(key), self.query(key.namespace), call, dict[str, Any])
        except NomadRefusal as refusal:
            raise (not_found(key) if refusal.status == 404 else refusal.as_target_error()) from None
        with unavailable_if_malformed(f'job "{key.id}"'):
            return parse_job(raw)

    def _read(self, keys: frozenset[JobKey], call: Call) -> Mapping[JobKey, JobView | TargetError]:
        namespaces = {key.namespace for key in keys}
        query = self.query(namespaces.pop() if len(namespaces) == 1 else "*")
        jobs = self._job_list.read(keys, query, call)
        deployments = self._deployment_list.read(keys, query, call)
        allocations = self._allocation_list.read(keys, query, call)
        failed = {**jobs.odd, **deployments.odd, **allocations.odd}
        if allocations.nameless is not None:  # the job whose allocation it is may seem to have none
            failed |= dict.fromkeys(keys - allocations.of.keys(), allocations.nameless)
        if jobs.nameless is not None:
            failed |= dict.fromkeys(keys - jobs.of.keys(), jobs.nameless)
        failed |= self._refresh_details(keys - failed.keys(), allocations.of, query, call)
        views: dict[JobKey, JobView | TargetError] = {}
        for key in keys:
            if key in failed:
                views[key] = failed[key]
            elif key not in jobs.of:
                self._forget(key)
                views[key] = not_found(key)
            else:
                try:
                    with unavailable_if_malformed(f'job "{key.id}"'):
                        (entry,) = jobs.of[key]
                        job = self._job(key, entry.job_modify_index, call)
                        registration = self.registrations.of(key, job, self.query(key.namespace), call)
                        listed = deployments.of.get(key, ()), allocations.of.get(key, ())
                        views[key] = self._view(key, _Source(job, entry, *listed, registration))
                except TargetError as error:
                    views[key] = error
        return views

    def _forget(self, key: JobKey) -> None:
        for kept in (self._jobs, self._details, self._views):
            kept.pop(key, None)
        self.registrations.forget(key)

    def _job(self, key: JobKey, modify_index: int, call: Call) -> Job:
        """Return the job; the kept one unless its index changed. Raises TargetError."""
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
    ) -> Mapping[JobKey, TargetError]:
        """Read the long form of changed allocations; forget those that are gone. Return the jobs of which one fails."""
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
            return self._read_long_list(changed, query, call)
        return self._read_details(changed, call)

    def _read_long_list(
        self, changed: Mapping[str, JobKey], query: Mapping[str, str | None], call: Call
    ) -> Mapping[JobKey, TargetError]:
        keys = frozenset(changed.values())
        try:
            with refusals_as_target_errors():
                listed, _ = self._long_list.read_whole(keys, query, call)
        except TargetError as error:
            return dict.fromkeys(keys, error)
        failed = dict(listed.odd)
        for key, entries in listed.of.items():
            try:
                with unavailable_if_malformed(f'an allocation of job "{key.id}"'):
                    self._details[key] |= {entry.id: parse_details(entry) for entry in entries}
            except TargetError as error:
                failed[key] = error
        if listed.nameless is not None:
            failed |= {key: listed.nameless for one, key in changed.items() if one not in self._details[key]}
        return failed

    def _read_details(self, changed: Mapping[str, JobKey], call: Call) -> Mapping[JobKey, TargetError]:
        failed: dict[JobKey, TargetError] = {}
        for allocation, key in changed.items():
            if key in failed:
                continue
            path = f"/v1/allocation/{allocation}"
            try:
                with unavailable_if_malformed(f"allocation {allocation}"):
                    long = self._client.get(path, self.query(key.namespace), call, LongAllocation)
                    self._details[key][allocation] = parse_details(long)
            except NomadRefusal as refusal:
                if refusal.status != 404:  # else it was collected since it was listed
                    failed[key] = refusal.as_target_error()
            except TargetError as error:
                failed[key] = error
        return failed

    def _view(self, key: JobKey, source: _Source) -> JobView:
        """Return the last view, or a new one when one of its objects changed."""
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
            source.registration,
        )
        self._views[key] = source, view
        return view


def not_found(key: JobKey) -> TargetNotFound:
    """Return the error for a job that does not exist or that the token may not read, with the remedy."""
    return TargetNotFound(
        f'there is no job "{key.id}" in namespace "{key.namespace}", or the ACL token may not read it; '
        "register it, or correct the target's name, namespace or region"
    )
