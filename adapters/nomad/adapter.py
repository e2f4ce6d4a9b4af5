"""The adapter for the task groups of a Nomad cluster. A target is `job/group`; its size is the group's count."""

import os
import threading
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any, ClassVar, Final, NamedTuple

from adapters.nomad.client import NomadClient, NomadRefusal, refusals_as_target_errors, unavailable_if_malformed
from adapters.nomad.drains import NodeDrains
from adapters.nomad.jobs import Group, Job, JobKey, job_and_group, job_path
from adapters.nomad.policies import Policies
from adapters.nomad.region import JobView, Region
from adapters.nomad.settings import NomadSettings, addresses_of, namespace_of, region_of, resolve
from autoscaler.target import (
    Adapter,
    AdapterContext,
    Call,
    Conflict,
    Decision,
    Discovery,
    Held,
    Hold,
    HoldReason,
    NodeDrain,
    Phase,
    Proposed,
    ScaleChange,
    ScaleOutcome,
    TargetError,
    TargetNotFound,
    TargetNotScalable,
    TargetRef,
    TargetState,
    TargetUnavailable,
    Written,
    check_before_write,
    nothing_written,
)
from autoscaler.target.http import Addresses

DEPLOYMENT_ACTIVE: Final = "DeploymentActive"
"""Reason of a hold: Nomad refuses a new count while a deployment of the job is under way."""
AWAITING_PROMOTION: Final = "AwaitingPromotion"
"""Reason of a hold: that deployment waits for somebody to promote its canaries, however long that takes."""
_NEEDS_PROMOTION: Final = "Deployment is running but requires manual promotion"
"""Nomad's description of such a deployment (structs/deployment.go)."""
_DEFAULT_REGION: Final = "global"
"""Region of an agent whose configuration names none."""
_MAX_ANNOUNCED: Final = 10_000
"""Targets whose last recorded event is remembered."""
_MESSAGE_LENGTH: Final = 1000
"""Nomad stores messages unshortened; a decision's reason fits in this length."""


_WRITE_TEST: Final = "autoscaler check --write-test: may this token scale the group? The count is unchanged"


class _Place(NamedTuple):
    """Region, job and group of a target."""

    region: str | None
    job: JobKey
    group: str
    warns_of_policy: bool
    """Whether a policy in its `scaling` block is warned of."""


class Nomad(Adapter):
    """One cluster, through one agent at a time."""

    Settings: ClassVar = NomadSettings
    target_keys: ClassVar = frozenset({"namespace", "region"})
    discover_keys: ClassVar = frozenset({"policies"})

    @staticmethod
    def target_problem(target: TargetRef, settings: NomadSettings) -> str | None:  # noqa: ARG004 - the contract's
        """Return what is wrong with the target's name or namespace, or None."""
        job, slash, group = target.name.rpartition("/")
        if not (job and slash and group) or target.name.split() != [target.name]:
            return f"name: {target.name!r} is not a valid target name; write it as JOB/GROUP"
        if target.namespace is not None and (target.namespace == "*" or not target.namespace):
            return f"namespace: {target.namespace!r} is not a single namespace; name one, or leave it out"
        return None

    @staticmethod
    def canonical(target: TargetRef, settings: NomadSettings) -> TargetRef:
        """Add the connection's namespace and region. Offline the agent's region is unknown: assume Nomad's default."""
        return replace(
            target,
            namespace=target.namespace or namespace_of(settings, os.environ),
            region=target.region or region_of(settings, os.environ) or _DEFAULT_REGION,
        )

    @staticmethod
    def place(settings: NomadSettings) -> str:
        """Return the agents' addresses."""
        return " ".join(sorted(addresses_of(settings, os.environ)))

    def __init__(self, context: AdapterContext[NomadSettings]) -> None:
        self._connection = resolve(context.settings, os.environ)
        self._addresses = Addresses(self._connection.addresses, context.name, context.clock, context.logger)
        self._client = NomadClient(self._connection, self._addresses, context.clock)
        self._drains = NodeDrains(self._client, self._connection.region, context.name, context.logger)
        self._draining = threading.Lock()
        self._policies = Policies(self._client, self._connection.region, context.name)
        self._discovers = context.discovers
        self._record_dry_run = context.settings.record_dry_run
        self._regions: dict[str | None, Region] = {}
        self._read_from = self._addresses.current
        """The address that the regions were read from."""
        self._superseded: dict[tuple[str | None, JobKey, str], str] = {}
        """Revision -> the revision that our own write made of it, since the last observation."""
        self._announced: dict[TargetRef, str] = {}
        """Target -> the last event recorded with Nomad for a decision that was not written."""
        if self._connection.tls.insecure_skip_verify:
            addresses = ", ".join(self._connection.addresses)
            context.logger.warning("nomad_tls_not_verified", connection=context.name, address=addresses)

    def observe(self, targets: Sequence[TargetRef], call: Call) -> Mapping[TargetRef, TargetState | TargetError]:
        """Return the state of each target. A region that fails affects only its own targets."""
        return self._addresses.observe(lambda: self._observe(targets, call), call)

    def _observe(self, targets: Sequence[TargetRef], call: Call) -> Mapping[TargetRef, TargetState | TargetError]:
        if self._read_from != self._addresses.current:  # what another server answered is not compared with this one's
            self._regions.clear()
            self._read_from = self._addresses.current
        self._superseded.clear()
        places = {target: self._place(target) for target in targets}
        jobs: dict[str | None, set[JobKey]] = defaultdict(set)
        for place in places.values():
            jobs[place.region].add(place.job)
        views = {region: self._read(region, frozenset(keys), call) for region, keys in jobs.items()}
        return {target: _state(place, views[place.region]) for target, place in places.items()}

    def scale(self, target: TargetRef, change: ScaleChange, call: Call) -> ScaleOutcome:
        """Set the group's count, guarded by the job's current index and by the index that the decision saw."""
        return self._addresses.run(lambda: self._scale(target, change, call), call)

    def _scale(self, target: TargetRef, change: ScaleChange, call: Call) -> ScaleOutcome:
        place = self._place(target)
        region = self._region(place.region)
        with nothing_written():
            job = region.read_job(place.job, call)
        group = _group(place, job)
        what, seen = f'group "{place.group}" of job "{place.job.id}"', self._expected(place, change.revision)
        unsent = check_before_write(what, replace(change, revision=seen), group.count, str(job.modify_index))
        if unsent is not None:  # Nomad would accept the same count and count it as a change of the job
            return unsent
        body = {"Count": change.size, "JobModifyIndex": job.modify_index, "Meta": {"decision": change.id}}
        try:
            written = self._post(place, change.reason, body, call)
        except NomadRefusal as refusal:
            if "active deployment" in refusal.text:
                return Held(HoldReason(DEPLOYMENT_ACTIVE, f'a deployment of job "{place.job.id}" has begun'))
            if refusal.status == 409 or "conflicting job modify index" in refusal.text:
                return Conflict(f'job "{place.job.id}" was changed during this write: {refusal.text}')
            raise refusal.as_target_error() from None
        with unavailable_if_malformed(f'a new count of job "{place.job.id}"'):
            index = int(written["JobModifyIndex"])
            self._superseded[place.region, place.job, str(job.modify_index)] = str(index)
            region.registrations.set_by_us(place.job, place.group, index)
        self._announced.pop(target, None)
        return Written(change.size)

    def announce(self, target: TargetRef, decision: Decision, call: Call) -> None:
        """Record a failed write, or with recordDryRun a dry run's proposal, as a scaling event.

        Nomad keeps only the latest events of a group, so a message is recorded again only after a different one.
        """
        outcome = decision.outcome
        if isinstance(outcome, TargetNotScalable):
            return  # Nomad accepts no event for a target that cannot be scaled
        if isinstance(outcome, TargetError):
            key, message = type(outcome).__name__, f"cannot scale to {decision.desired}: {outcome}"
        elif isinstance(outcome, Proposed) and self._record_dry_run:
            key = message = f"dry run: would scale from {decision.current} to {outcome.size}"
        else:
            return
        if self._announced.get(target) == key:
            return
        failed = isinstance(outcome, TargetError)
        with refusals_as_target_errors():
            self._addresses.run(lambda: self._post(self._place(target), message, {"Error": failed}, call), call)
        if len(self._announced) >= _MAX_ANNOUNCED:  # most of these targets are not asked for any more
            self._announced.clear()
        self._announced[target] = key

    def failing_addresses(self, call: Call) -> Mapping[str, str]:
        """Return the addresses whose agent finds no leader of the cluster -> why."""

        def find_leader(call: Call) -> None:
            with refusals_as_target_errors():
                self._client.get("/v1/status/leader", {"region": self._connection.region}, call, str)

        return self._addresses.failing(find_leader, call)

    def try_write(self, target: TargetRef, call: Call) -> str:
        """Record a scaling event without a count, for which Nomad requires the same capability as for a count."""

        def record() -> None:
            place = self._place(target)
            _group(place, self._region(place.region).read_job(place.job, call))
            written = self._post(place, _WRITE_TEST, {}, call)
            with unavailable_if_malformed(f'a scaling event of job "{place.job.id}"'):
                _ = written["JobModifyIndex"]

        with refusals_as_target_errors():
            self._addresses.run(record, call)
        return "permitted: Nomad recorded a scaling event without a count; the count is unchanged"

    def drain_node(self, instance: str, addresses: Collection[str], deadline: timedelta, call: Call) -> NodeDrain:
        """Begin or follow the drain of the region's node that is this instance. Raises TargetError.

        Several threads may call it, on an adapter that does nothing else; they use its session one after another.
        """
        if not self._draining.acquire(timeout=max(0.0, call.seconds_left(self._client.monotonic()))):
            raise TargetUnavailable("requests for the drains of other nodes took all of the time; it is tried again")
        try:
            return self._addresses.observe(lambda: self._drains.drain(instance, addresses, deadline, call), call)
        finally:
            self._draining.release()

    def try_drain(self, call: Call) -> str:
        """Find out whether the token may drain nodes. Raises TargetForbidden, or another TargetError."""
        return self._addresses.run(lambda: self._drains.try_drain(call), call)

    def discover(self, namespaces: Collection[str], known: Collection[TargetRef], call: Call) -> Discovery:
        """Return the policies of the groups in these namespaces, as `Adapter.discover` says."""
        return self._addresses.observe(lambda: self._policies.discover(namespaces, known, call), call)

    def close(self) -> None:
        """Close the connection."""
        self._client.close()

    def _place(self, target: TargetRef) -> _Place:
        job, group = job_and_group(target)
        namespace = target.namespace or self._connection.namespace
        region = target.region or self._connection.region
        return _Place(region, JobKey(namespace, job), group, not self._discovers)

    def _region(self, name: str | None) -> Region:
        return self._regions.setdefault(name, Region(self._client, name))

    def _read(
        self, region: str | None, keys: frozenset[JobKey], call: Call
    ) -> Mapping[JobKey, JobView | TargetError] | TargetError:
        try:
            return self._region(region).read(keys, call)
        except TargetError as error:
            return error

    def _expected(self, place: _Place, revision: str | None) -> str | None:
        """Return the revision after our own writes to other groups of the job, which are not outside changes."""
        while revision is not None and (key := (place.region, place.job, revision)) in self._superseded:
            revision = self._superseded[key]
        return revision

    def _post(self, place: _Place, message: str, body: Mapping[str, Any], call: Call) -> Any:
        target = {"Group": place.group}
        return self._client.post(
            job_path(place.job, "/scale"),
            self._region(place.region).query(place.job.namespace),
            {"Target": target, "Message": message[:_MESSAGE_LENGTH], **body},
            call,
        )


def _group(place: _Place, job: Job) -> Group:
    """Return the group. Raises TargetNotScalable or TargetNotFound."""
    if job.obstacle is not None:
        raise TargetNotScalable(f'job "{place.job.id}" cannot be scaled: {job.obstacle}')
    if place.group not in job.groups:
        known = ", ".join(job.groups)
        raise TargetNotFound(f'job "{place.job.id}" has no group "{place.group}", it has {known}; correct the name')
    return job.groups[place.group]


def _state(place: _Place, views: Mapping[JobKey, JobView | TargetError] | TargetError) -> TargetState | TargetError:
    view = views if isinstance(views, TargetError) else views[place.job]
    if isinstance(view, TargetError):
        return view
    if place.group not in view.states:
        try:
            view.states[place.group] = _made(place, view)
        except TargetError as error:
            return error
    return view.states[place.group]


def _made(place: _Place, view: JobView) -> TargetState:
    """Return the state. Raises TargetNotScalable or TargetNotFound."""
    group = _group(place, view.job)
    instances = view.instances.get(place.group, ())
    return TargetState(
        replicas=group.count,
        status_replicas=sum(not one.deleting and one.phase is not Phase.FAILED for one in instances),
        instances=instances,
        limits=group.limits,
        hold=_hold(place, view),
        revision=str(view.job.modify_index),
        warnings=tuple(_warnings(place, group, view)),
        deployment=view.registration.of_group.get(place.group),
        reset_by=view.registration.reset_by(place.group, group.count),
    )


def _hold(place: _Place, view: JobView) -> Hold:
    deployment = view.deployment
    if deployment is None:
        return Hold()
    what = f'deployment {deployment.id[:8]} of version {deployment.job_version} of job "{place.job.id}"'
    if deployment.description == _NEEDS_PROMOTION:
        message = (
            f"{what} waits for its canaries to be promoted, and Nomad takes no new count until then; "
            f"`nomad deployment promote {deployment.id[:8]}` or `nomad deployment fail {deployment.id[:8]}`"
        )
        reason = HoldReason(AWAITING_PROMOTION, message)
    else:
        description = deployment.description or deployment.status
        message = f"{what} is under way ({description}); Nomad takes no new count until it has ended"
        reason = HoldReason(DEPLOYMENT_ACTIVE, message)
    return Hold(scale_out=reason, scale_in=reason)


def _warnings(place: _Place, group: Group, view: JobView) -> list[str]:
    found = []
    if group.policy and place.warns_of_policy:
        found.append(
            f'the scaling block of group "{place.group}" has a policy: a Nomad Autoscaler would also '
            "change its count; remove the policy, or this autoscaler"
        )
    if queued := view.queued.get(place.group, 0):
        found.append(f"{queued} of {group.count} allocations are not placed; see `nomad job status {place.job.id}`")
    return found
