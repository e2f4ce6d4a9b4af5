"""One region's jobs, deployments and allocations, read in batches; what has not changed is kept.

A quiet cycle costs three requests, however many groups are scaled: the lists of jobs, of deployments and of
allocations. A job is read again when its JobModifyIndex moved, an allocation's long form when its ModifyIndex did.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence, Set
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import quote

from adapters.nomad.allocations import LISTED, Details, is_canary, parse_details, to_instance
from adapters.nomad.client import NomadClient, NomadRefusal
from adapters.nomad.jobs import Job, JobKey, parse_job
from autoscaler.target import Call, Instance, TargetError, TargetNotFound, TargetUnavailable

ACTIVE: Final = 'Status != "successful" and Status != "failed" and Status != "cancelled"'
"""Filter of the deployments that block scaling. One that was garbage collected is none."""
_NAMED_IN_FILTER: Final = 20
"""Up to so many jobs a list is narrowed to them; beyond, evaluating the filter costs Nomad more than it saves."""
_PLAIN: Final = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./: ")
"""Characters that need no quoting in a filter, which knows no escapes."""
_LONG_PER_PAGE: Final = 1000
"""Entries a page of allocations with everything: each may take tens of kilobytes."""
_READ_ONE_BY_ONE: Final = 25
"""Up to so many changed allocations are read singly; beyond, the whole list with everything is cheaper."""


@dataclass(frozen=True, slots=True)
class Deployment:
    """A deployment under way."""

    id: str
    create_index: int
    job_version: int
    status: str
    """Nomad's own description of it."""


@dataclass(frozen=True, slots=True)
class JobView:
    """One job as this cycle sees it."""

    job: Job
    deployment: Deployment | None
    instances: Mapping[str, tuple[Instance, ...]]
    """By group; canaries are left out."""
    queued: Mapping[str, int]
    """By group: allocations that found no place."""


class Region:
    """The caches of one region."""

    def __init__(self, client: NomadClient, name: str | None) -> None:
        self._client = client
        self._name = name
        self._jobs: dict[JobKey, Job] = {}
        self._details: dict[JobKey, dict[str, Details]] = {}

    def query(self, namespace: str) -> dict[str, str | None]:
        """The parameters that every request carries: without its namespace Nomad would look into `default`."""
        return {"region": self._name, "namespace": namespace}

    def read(self, keys: Set[JobKey], call: Call) -> Mapping[JobKey, JobView | TargetError]:
        """Every job asked for, or what is wrong with it alone. Raises TargetError: it concerns all."""
        try:
            with unavailable_if_malformed("a list"):
                return self._read(keys, call)
        except NomadRefusal as refusal:
            raise refusal.as_target_error() from None

    def read_job(self, key: JobKey, call: Call) -> Job:
        """The job as it is now. Raises TargetError."""
        try:
            raw = self._client.get(job_path(key), self.query(key.namespace), call)
        except NomadRefusal as refusal:
            raise (not_found(key) if refusal.status == 404 else refusal.as_target_error()) from None
        with unavailable_if_malformed(f'job "{key.id}"'):
            return parse_job(raw)

    def _read(self, keys: Set[JobKey], call: Call) -> Mapping[JobKey, JobView | TargetError]:
        stubs = self._list("/v1/jobs", "ID", keys, call)
        deployments = self._list("/v1/deployments", "JobID", keys, call, ACTIVE)
        allocations = self._list("/v1/allocations", "JobID", keys, call, LISTED, task_states="false")
        self._refresh_details(keys, allocations, call)
        views: dict[JobKey, JobView | TargetError] = {}
        for key in keys:
            if key not in stubs:
                self._jobs.pop(key, None)
                views[key] = not_found(key)
                continue
            try:
                job = self._job(key, stubs[key][0]["JobModifyIndex"], call)
            except TargetError as error:
                views[key] = error
                continue
            views[key] = self._view(key, job, stubs[key][0], deployments.get(key, ()), allocations.get(key, ()))
        return views

    def _list(
        self, path: str, id_field: str, keys: Set[JobKey], call: Call, also: str = "", **options: str
    ) -> Mapping[JobKey, Sequence[Mapping[str, Any]]]:
        """The entries of a list that belong to `keys`, by job."""
        namespaces = {key.namespace for key in keys}
        query = self.query(namespaces.pop() if len(namespaces) == 1 else "*")
        entries = defaultdict(list)
        conditions = " and ".join(f"({part})" for part in (also, _only(id_field, keys)) if part)
        for entry in self._client.pages(path, {**query, "filter": conditions or None, **options}, call):
            key = JobKey(entry["Namespace"], entry[id_field])
            if key in keys:
                entries[key].append(entry)
        return entries

    def _job(self, key: JobKey, modify_index: int, call: Call) -> Job:
        """The job, from what is kept unless its index moved. Raises TargetError."""
        known = self._jobs.get(key)
        if known is None or known.modify_index != modify_index:
            known = self._jobs[key] = self.read_job(key, call)
        return known

    def _refresh_details(
        self, keys: Set[JobKey], allocations: Mapping[JobKey, Sequence[Mapping[str, Any]]], call: Call
    ) -> None:
        """Read the long form of what is new or changed, and forget what is gone. Raises TargetError or NomadRefusal."""
        changed: dict[str, JobKey] = {}
        for key in keys:
            kept, self._details[key] = self._details.get(key, {}), {}
            for stub in allocations.get(key, ()):
                details = kept.get(stub["ID"])
                if details is not None and details.modify_index == stub["ModifyIndex"]:
                    self._details[key][stub["ID"]] = details
                else:
                    changed[stub["ID"]] = key
        if len(changed) > _READ_ONE_BY_ONE:
            everything = self._list(
                "/v1/allocations",
                "JobID",
                set(changed.values()),
                call,
                LISTED,
                resources="true",
                task_states="true",
                per_page=str(_LONG_PER_PAGE),
            )
            for key, entries in everything.items():
                self._details[key] |= {entry["ID"]: parse_details(entry) for entry in entries}
            return
        for allocation, key in changed.items():
            try:
                raw = self._client.get(f"/v1/allocation/{allocation}", self.query(key.namespace), call)
            except NomadRefusal as refusal:
                if refusal.status != 404:  # collected since it was listed: it is gone
                    raise
            else:
                self._details[key][allocation] = parse_details(raw)

    def _view(
        self,
        key: JobKey,
        job: Job,
        stub: Mapping[str, Any],
        deployments: Sequence[Mapping[str, Any]],
        allocations: Sequence[Mapping[str, Any]],
    ) -> JobView:
        deployment = next((_deployment(raw) for raw in deployments if raw["JobCreateIndex"] == job.create_index), None)
        unjudged_since = None if deployment is None else deployment.create_index
        instances: dict[str, list[Instance]] = defaultdict(list)
        for one in allocations:
            details = self._details[key].get(one["ID"])
            if details is not None and not is_canary(one):
                instances[one["TaskGroup"]].append(to_instance(one, details, unjudged_since))
        summary = (stub.get("JobSummary") or {}).get("Summary") or {}
        queued = {group: numbers.get("Queued", 0) for group, numbers in summary.items()}
        return JobView(job, deployment, {group: tuple(them) for group, them in instances.items()}, queued)


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


def _only(field: str, keys: Set[JobKey]) -> str:
    """A filter that keeps the jobs asked for; empty: take all and choose ourselves."""
    ids = sorted({key.id for key in keys})
    if len(ids) > _NAMED_IN_FILTER or not all(_PLAIN.issuperset(one) for one in ids):
        return ""
    return " or ".join(f'{field} == "{one}"' for one in ids)


def _deployment(raw: Mapping[str, Any]) -> Deployment:
    return Deployment(raw["ID"], raw["CreateIndex"], raw["JobVersion"], raw["StatusDescription"] or raw["Status"])
