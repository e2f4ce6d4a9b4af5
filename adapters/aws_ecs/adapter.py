"""The adapter for the ECS services of one account and region."""

import os
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import ClassVar, Final

from adapters.aws.errors import OutcomeUnknown, not_written, require_permissions
from adapters.aws.optional import OptionalReads
from adapters.aws.raw import Raw, read_in_batches
from adapters.aws.settings import AwsSettings
from adapters.aws.writes import Writes
from adapters.aws_ecs import services
from adapters.aws_ecs.other_autoscalers import OtherAutoscalers
from adapters.aws_ecs.protection import Protection
from adapters.aws_ecs.tasks import Tasks
from autoscaler.target import (
    Adapter,
    AdapterContext,
    Call,
    Held,
    HoldReason,
    Instance,
    ScaleChange,
    ScaleOutcome,
    TargetError,
    TargetNotFound,
    TargetNotWritten,
    TargetRef,
    TargetState,
    TargetUnavailable,
    check_before_write,
)

_NAME: Final = re.compile(r"[A-Za-z0-9_-]{1,255}/[A-Za-z0-9_-]{1,255}")
"""Source: ECS API Reference, CreateCluster and CreateService."""
_SERVICES_PER_CALL: Final = 10
_UNTESTED: Final = (
    "not tested: ecs:GetTaskProtection and ecs:UpdateTaskProtection, which an autoscaler with `victims` needs"
)
_TRY_AGAIN: Final = (TargetUnavailable, TargetNotWritten)


class AwsEcs(Adapter):
    """Sets the desired count of ECS services, for victims also the protection of tasks, and changes nothing else."""

    Settings: ClassVar = AwsSettings
    target_keys: ClassVar = frozenset({"victims"})
    concurrent_writes = 8

    @staticmethod
    def target_problem(target: TargetRef, settings: AwsSettings) -> str | None:  # noqa: ARG004 - the contract's
        """Return why no service can have this name, or None."""
        if _NAME.fullmatch(target.name):
            return None
        return (
            f"name: {target.name!r} is not CLUSTER/SERVICE; write both names, not ARNs, each of at most 255 letters, "
            "digits, hyphens and underscores"
        )

    @staticmethod
    def place(settings: AwsSettings) -> str:
        """Return the account and the region, as far as they are known offline."""
        return settings.place(os.environ)

    def __init__(self, context: AdapterContext[AwsSettings]) -> None:
        from adapters.aws.api import AwsApi  # noqa: PLC0415 - loading the class must not import boto3

        self._api: Final = AwsApi(context.name, context.settings, context.clock)
        self._writes = Writes(context.name, context.memory, context.clock, context.logger)
        self._tasks = Tasks(self._api)
        self._protection = Protection(self._api)
        self._other_autoscalers = OtherAutoscalers(self._api, context.clock)
        self._optional = OptionalReads(context.clock, context.logger)
        self._unread: frozenset[str] = frozenset()
        """Services that the last observation could not read. They go first, so that each has its turn."""

    def observe(self, targets: Sequence[TargetRef], call: Call) -> Mapping[TargetRef, TargetState | TargetError]:
        """Read all services, ten a request, then their tasks; Application Auto Scaling's list from time to time."""
        if not targets:
            return {}
        self._writes.load()
        names = sorted({target.name for target in targets}, key=lambda name: (name not in self._unread, name))
        found = self._describe(names, call)
        self._tasks.keep(_by_cluster(names))
        tasks = self._tasks.read(_by_cluster(name for name in names if not isinstance(found[name], TargetError)), call)
        self._optional.run("registered scalable targets", self._other_autoscalers.read_next_pages, call)
        read = {
            name: service
            if isinstance(service, TargetError)
            else self._read(name, service, tasks[_cluster(name), _service(name)])
            for name, service in found.items()
        }
        self._unread = frozenset(name for name, state in read.items() if isinstance(state, _TRY_AGAIN))
        return {target: read[target.name] for target in targets}

    def scale(self, target: TargetRef, change: ScaleChange, call: Call) -> ScaleOutcome:
        """Set the service's desired count, after a last read of it."""
        with not_written():
            self._writes.load()
            return self._scale(target.name, change, call)

    def try_write(self, target: TargetRef, call: Call) -> str:
        """Update the service without a parameter, which changes nothing and starts no deployment.

        Source: ECS API Reference, UpdateService: each parameter but the service is optional, and a deployment without a
        change needs forceNewDeployment. Raises TargetForbidden, which names every missing permission, or TargetError.
        """
        self._look(target.name, call)
        registered = {"ServiceNamespace": "ecs", "MaxResults": 1}
        asked = (
            partial(self._api.ask, "application-autoscaling", "describe_scalable_targets", call, registered),
            partial(self._update, target.name, call),
        )
        require_permissions(asked)
        return f"permitted: AWS accepted an update that changes nothing; {_UNTESTED}"

    def close(self) -> None:
        """Close idle connections."""
        self._api.close()

    def _describe(self, names: Sequence[str], call: Call) -> dict[str, Raw | TargetError]:
        """Return the description of each service, or its error."""
        found: dict[str, Raw | TargetError] = {}
        for cluster, own in _by_cluster(names).items():
            found |= self._describe_in(cluster, own, call)
        return found

    def _describe_in(self, cluster: str, own: Sequence[str], call: Call) -> Iterator[tuple[str, Raw | TargetError]]:
        """Yield the answers for the services of one cluster."""

        def ask(batch: Sequence[str]) -> Iterator[Raw]:
            wanted = {"cluster": cluster, "services": batch, "include": ["TAGS"]}
            return self._api.pages("ecs", "describe_services", "services", call, wanted)

        def scalable(one: Raw) -> Raw:
            return services.scalable(f"{cluster}/{one['serviceName']}", one, self._api.region)

        found, failed = read_in_batches(own, _SERVICES_PER_CALL, ask, "serviceName", "describe_services", scalable)
        for one in own:
            problem = failed.get(one)
            if problem is None or isinstance(problem, TargetNotFound):  # the cluster does not exist
                problem = services.not_found(f"{cluster}/{one}", self._api.region)
            yield f"{cluster}/{one}", found.get(one) or problem

    def _read(self, name: str, service: Raw, tasks: Sequence[Instance] | TargetError) -> TargetState | TargetError:
        if isinstance(tasks, TargetError):
            return tasks
        return TargetState(
            replicas=self._writes.size(name, service["desiredCount"]),
            status_replicas=sum(not one.deleting for one in tasks),
            instances=tuple(tasks),
            hold=services.hold(service),
            reset_by=services.reset_by(service),
            warnings=self._other_autoscalers.warnings(name),
        )

    def _look(self, name: str, call: Call) -> Raw:
        """Return the service as AWS describes it now. Raises TargetError."""
        found = self._describe([name], call)[name]
        if isinstance(found, TargetError):
            raise found
        return found

    def _scale(self, name: str, change: ScaleChange, call: Call) -> ScaleOutcome:
        service = self._look(name, call)
        current, hold = self._writes.size(name, service["desiredCount"]), services.hold(service)
        unsent = check_before_write(f"ECS service {name}", change, current, hold=hold)
        if unsent is not None:
            return unsent
        if change.victims and change.size < current:
            size = self._protection.choose(name, change, current, call)
            if isinstance(size, HoldReason):
                return Held(size)
            change = replace(change, size=size)
        return self._writes.set_size(name, change, current, partial(self._update, name, call, desiredCount=change.size))

    def _update(self, name: str, call: Call, **parameters: int) -> None:
        """Update the service. Raises TargetError; OutcomeUnknown when AWS may have performed it."""
        wanted = {"cluster": _cluster(name), "service": _service(name), **parameters}
        answer = self._api.ask("ecs", "update_service", call, wanted, write=True)
        if not answer.get("service"):  # botocore takes any other answer for an empty one
            raise OutcomeUnknown(
                f"service {name}: the answer to its update is not that of AWS, so its size is unknown until the next "
                "cycle; is there an AWS endpoint behind `endpointUrl`?"
            )


def _cluster(name: str) -> str:
    return name.partition("/")[0]


def _service(name: str) -> str:
    return name.partition("/")[2]


def _by_cluster(names: Iterable[str]) -> Mapping[str, list[str]]:
    """Return cluster -> services, in the order of the names."""
    found: defaultdict[str, list[str]] = defaultdict(list)
    for name in names:
        found[_cluster(name)].append(_service(name))
    return found
