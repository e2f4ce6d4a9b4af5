"""The scaling policies that stand in jobs, as `Adapter.discover` reads them.

GET /v1/scaling/policies lists stubs without the policies, so each new or changed policy is read by itself. The
capabilities `list-jobs` and `read-job` suffice (Nomad's nomad/scaling_endpoint.go). Each namespace is listed by its
name: without rights, Nomad answers 403 then, but 200 and an empty list for the namespace `*`.
"""

from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final, NamedTuple

import msgspec

from adapters.nomad.client import NomadClient, NomadRefusal, unavailable_if_malformed
from adapters.nomad.entries import PolicyEntry
from adapters.nomad.jobs import JobKey, job_and_group, job_path
from adapters.nomad.lists import UNDECODABLE
from autoscaler.target import Call, Discovery, TargetError, TargetNotFound, TargetRef, TargetUnavailable

_GONE: Final = ("job not found", "policy not found")
"""Nomad's texts of a 404. A proxy may answer 404 for other reasons."""


class _Known(NamedTuple):
    """A policy as last read."""

    namespace: str
    modify_index: int
    value: Mapping[str, Any]


class Policies:
    """The horizontal policies of one region."""

    def __init__(self, client: NomadClient, region: str | None, connection: str) -> None:
        """`connection`: its name in `adapters`."""
        self._client = client
        self._region = region
        self._connection = connection
        self._known: dict[str, _Known] = {}
        """By id. A rebuilt cluster may repeat a modify index, but not an id."""

    def discover(self, namespaces: Collection[str], known: Collection[TargetRef], call: Call) -> Discovery:
        """Return the policies of these namespaces, as `Adapter.discover` says."""
        policies: dict[TargetRef, Mapping[str, Any] | TargetError] = {}
        failures: dict[str, TargetError] = {}
        listed: set[str] = set()
        for namespace in namespaces:
            try:
                with _reading():
                    entries = self._list(namespace, call)
            except TargetError as error:
                failures[namespace] = error
                continue
            for raw in entries:
                try:
                    entry = msgspec.json.decode(raw, type=PolicyEntry)
                except UNDECODABLE as problem:
                    if (target := self._target_of(_target(raw), namespace)) is not None:
                        policies[target] = TargetUnavailable(
                            f"its scaling policy is not of the form expected: {problem}"
                        )
                    continue
                if (target := self._target_of(entry.target, namespace)) is not None:
                    policies[target] = self._policy(entry, target, call)
                    listed.add(entry.id)
            answered = {target.parts for target in policies if target.namespace == namespace}
            for target in known:
                if target.namespace == namespace and job_and_group(target) not in answered:
                    policies[target] = self._policy_in_job(target, call)
        self._known = {id_: one for id_, one in self._known.items() if id_ in listed or one.namespace in failures}
        return Discovery(policies, failures)

    def _list(self, namespace: str, call: Call) -> list[msgspec.Raw]:
        """Return the namespace's policies. Raises NomadRefusal and TargetError."""
        query = {**self._query(namespace), "type": "horizontal"}
        return self._client.get("/v1/scaling/policies", query, call, list[msgspec.Raw])

    def _target_of(self, target: Mapping[str, Any], namespace: str) -> TargetRef | None:
        """Return the group of this namespace that a policy's target names; None: it names none."""
        job, group = target.get("Job"), target.get("Group")
        if target.get("Namespace") != namespace or not isinstance(job, str) or not isinstance(group, str):
            return None
        return TargetRef(self._connection, f"{job}/{group}", namespace, parts=(job, group))

    def _policy(self, entry: PolicyEntry, target: TargetRef, call: Call) -> Mapping[str, Any] | TargetError:
        """Return the policy of an entry, or why it is not known."""
        known = self._known.get(entry.id)
        if known is None or known.modify_index != entry.modify_index:
            try:
                with _reading():
                    path = f"/v1/scaling/policy/{entry.id}"
                    value = self._client.get(path, self._query(target.namespace), call, dict[str, Any])
                    known = _Known(target.namespace or "", int(value["ModifyIndex"]), value)
            except TargetNotFound:  # it was removed since it was listed
                return self._policy_in_job(target, call)
            except TargetError as error:
                return error
            self._known[entry.id] = known
        return known.value if known.value.get("Policy") else _no_policy(target)

    def _policy_in_job(self, target: TargetRef, call: Call) -> Mapping[str, Any] | TargetError:
        """Return the policy of a target that is not listed, as its job has it; TargetNotFound: there is none."""
        job, group = job_and_group(target)
        try:
            with _reading():
                path = job_path(JobKey(target.namespace or "", job))
                raw = self._client.get(path, self._query(target.namespace), call, dict[str, Any])
                blocks = {one["Name"]: one.get("Scaling") for one in raw["TaskGroups"] or ()}
                scaling = blocks.get(group) or {}
                if not scaling.get("Policy"):
                    return _no_policy(target)
        except TargetError as error:
            return error
        return {**scaling, "Target": {"Namespace": target.namespace, "Job": job, "Group": group}}

    def _query(self, namespace: str | None) -> dict[str, str | None]:
        return {"region": self._region, "namespace": namespace}


def _target(raw: msgspec.Raw) -> Mapping[str, Any]:
    """Return the target of an entry that is not of the documented form; empty: it has none."""
    try:
        found = msgspec.json.decode(raw).get("Target")
    except (*UNDECODABLE, AttributeError):
        return {}
    return found if isinstance(found, dict) else {}


def _no_policy(target: TargetRef) -> TargetNotFound:
    return TargetNotFound(f"{target.name} in namespace {target.namespace} has no `scaling` block with a policy")


@contextmanager
def _reading() -> Iterator[None]:
    """Raise a refusal as a TargetError: TargetNotFound only if Nomad itself does not find the job or the policy."""
    try:
        with unavailable_if_malformed("a scaling policy"):
            yield
    except NomadRefusal as refusal:
        error = refusal.as_target_error()
        if not isinstance(error, TargetNotFound):
            raise error from None
        gone = refusal.status == 404 and any(text in refusal.text for text in _GONE)
        raise (TargetNotFound if gone else TargetUnavailable)(str(refusal)) from None
