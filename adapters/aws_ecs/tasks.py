"""The tasks of services, which AWS lists by their ARNs alone.

A task is described while it may change: until it runs, while it has a health check, and while it leaves. Other tasks
are described once. Sources: ECS API Reference, ListTasks (of a service or a cluster, 100 a page), DescribeTasks (100 a
call) and DescribeTaskDefinition; ECS Developer Guide, "Amazon ECS task lifecycle".
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC
from typing import TYPE_CHECKING, Any, Final

from adapters.aws.raw import Raw, unavailable_if_malformed
from adapters.aws_ecs.hosts import Hosts
from autoscaler.target import Call, Instance, Milli, Phase, TargetError

if TYPE_CHECKING:
    from adapters.aws.api import AwsApi

_TASKS_PER_CALL: Final = 100
_LISTED_BY_SERVICE: Final = 10
"""Of a cluster with more targets all tasks are listed together, also those of other services."""
_GROUP: Final = "service:"
_LEAVING: Final = frozenset({"DEACTIVATING", "STOPPING", "DEPROVISIONING"})
_GONE: Final = frozenset({"STOPPED", "DELETED"})
_UNITS_PER_CORE: Final = 1024
_MEBIBYTE: Final = 2**20


@dataclass(frozen=True, slots=True)
class _Task:
    service: str
    instance: Instance | None
    """None: the service is no target."""
    host: str
    settled: bool
    """Whether it stays as it is until it is no longer listed."""


class Tasks:
    """The tasks of clusters, as they were described last."""

    def __init__(self, api: "AwsApi") -> None:
        self._api = api
        self._hosts = Hosts(api)
        self._known: dict[str, dict[str, _Task]] = {}
        """Cluster -> ARN -> task."""
        self._health_checks: dict[str, bool] = {}
        """Task definition, which never changes -> whether an essential container has a health check."""

    def read(
        self, services: Mapping[str, Collection[str]], call: Call
    ) -> Mapping[tuple[str, str], Sequence[Instance] | TargetError]:
        """Return cluster and service -> the tasks that have not ended, or the error. `services`: by cluster."""
        found: dict[tuple[str, str], Sequence[Instance] | TargetError] = {}
        for cluster, names in services.items():
            each = [frozenset({name}) for name in names]
            for part in each if len(names) <= _LISTED_BY_SERVICE else [frozenset(names)]:
                try:
                    read = self._read(cluster, part, call)
                except TargetError as error:
                    read = dict.fromkeys(part, error)
                found |= {(cluster, name): tasks for name, tasks in read.items()}
        return found

    def keep(self, services: Mapping[str, Collection[str]]) -> None:
        """Forget the tasks of all but these services, by cluster, unless the cluster's tasks are listed together."""
        self._known = {
            cluster: {
                arn: task
                for arn, task in self._known.get(cluster, {}).items()
                if task.service in names or (task.instance is None and len(names) > _LISTED_BY_SERVICE)
            }
            for cluster, names in services.items()
        }
        self._hosts.forget({task.host for tasks in self._known.values() for task in tasks.values()})

    def _read(
        self, cluster: str, services: frozenset[str], call: Call
    ) -> Mapping[str, Sequence[Instance] | TargetError]:
        """Return service -> its tasks, or the error of one of them. What was described before an error stays known."""
        known = self._known.setdefault(cluster, {})
        listed = self._list(cluster, services, call)
        before = {arn for arn, task in known.items() if task.service in services}
        asked = sorted(arn for arn in listed | before if _may_have_changed(known.get(arn), services, arn in listed))
        if len(services) > 1:
            for arn in known.keys() - listed - before:
                del known[arn]
        failed: dict[str, TargetError] = {}
        for start in range(0, len(asked), _TASKS_PER_CALL):
            self._describe(cluster, services, asked[start : start + _TASKS_PER_CALL], failed, call)
        found: dict[str, list[Instance]] = {name: [] for name in services}
        for task in known.values():
            if task.instance is not None and task.service in services:
                found[task.service].append(task.instance)
        return found | failed

    def _list(self, cluster: str, services: frozenset[str], call: Call) -> set[str]:
        """Return the ARNs of the tasks that AWS wants to run, of one service or of the cluster."""
        wanted = {"cluster": cluster}
        if len(services) == 1:
            (wanted["serviceName"],) = services
        return set(self._api.pages("ecs", "list_tasks", "taskArns", call, wanted))

    def _describe(
        self, cluster: str, services: frozenset[str], arns: Sequence[str], failed: dict[str, TargetError], call: Call
    ) -> None:
        """Describe tasks, and forget those that have ended. `failed` gets the first error of a service's task.

        Raises TargetError when the request fails.
        """
        known = self._known[cluster]
        answer = self._api.ask("ecs", "describe_tasks", call, {"cluster": cluster, "tasks": arns})
        with unavailable_if_malformed("describe_tasks"):
            described = [(_service(one), one) for one in answer["tasks"]]
        tasks, hosts = dict[str, tuple[str, Raw]](), set[str]()
        for service, one in described:
            try:
                with unavailable_if_malformed(f"a task of service {service}"):
                    if one.get("lastStatus") not in _GONE:
                        tasks[one["taskArn"]] = service, one
                        hosts |= {_host(one)} if service in services else set()
            except TargetError as error:
                failed[service] = error
        unread_hosts = self._hosts.learn(cluster, hosts - {""}, call)
        for arn in arns:
            known.pop(arn, None)
        for arn, (service, one) in tasks.items():
            if service in failed:
                continue
            try:
                with unavailable_if_malformed(f"task {arn}"):
                    known[arn] = self._task(one, services, unread_hosts, call)
            except TargetError as error:
                failed[service] = error

    def _learn_definition(self, arn: str, call: Call) -> None:
        if arn in self._health_checks:
            return
        answer = self._api.ask("ecs", "describe_task_definition", call, {"taskDefinition": arn})
        containers = answer["taskDefinition"]["containerDefinitions"]
        self._health_checks[arn] = any(one.get("healthCheck") and one.get("essential", True) for one in containers)

    def _task(self, one: Raw, services: frozenset[str], unread_hosts: Mapping[str, TargetError], call: Call) -> _Task:
        """Return the task. `unread_hosts`: container instances whose request failed. Raises TargetError."""
        service = _service(one)
        if service not in services:
            return _Task(service, None, "", settled=True)
        host = _host(one)
        if host in unread_hosts:
            raise unread_hosts[host]
        running = one["lastStatus"] == "RUNNING"
        if running and _health(one) == "UNKNOWN":
            self._learn_definition(one["taskDefinitionArn"], call)
        checked = _health(one) != "UNKNOWN" or self._health_checks.get(one["taskDefinitionArn"], False)
        ready = (_health(one) == "HEALTHY" if checked else None) if running else False
        instance = _instance(one, ready, self._hosts.addresses(host))
        return _Task(service, instance, host, settled=running and not checked and not instance.deleting)


def _may_have_changed(task: _Task | None, services: frozenset[str], listed: bool) -> bool:
    if task is None:
        return True
    return task.service in services and not (task.settled and listed and task.instance is not None)


def _service(one: Raw) -> str:
    group = one.get("group") or ""
    return str(group.removeprefix(_GROUP)) if group.startswith(_GROUP) else ""


def _health(one: Raw) -> str:
    return one.get("healthStatus") or "UNKNOWN"


def _host(one: Raw) -> str:
    """Return the ARN of the container instance that has the task's ports; empty: it has its own address, or no port."""
    has_ports = any(container.get("networkBindings") for container in one.get("containers") or ())
    return (one.get("containerInstanceArn") or "") if has_ports else ""


def _instance(one: Raw, ready: bool | None, host: Collection[str]) -> Instance:
    """Return the task as an instance. `host`: the addresses of its container instance."""
    arn, status = one["taskArn"], one["lastStatus"]
    started = one.get("startedAt") or one.get("createdAt")
    health = f", {_health(one)}" if status == "RUNNING" else ""
    why = f": {one['stoppedReason']}" if one.get("stoppedReason") else ""
    return Instance(
        name=arn.rpartition("/")[2],
        phase=Phase.RUNNING if status == "RUNNING" or status in _LEAVING else Phase.PENDING,
        ready=ready,
        started_at=started.astimezone(UTC) if started else None,
        deleting=status in _LEAVING or one["desiredStatus"] != "RUNNING",
        identities=frozenset(name for name in _identities(one, host) if name),
        requests=_reservation(one.get("cpu"), one.get("memory")),
        container_requests={
            container["name"]: reserved
            for container in one.get("containers") or ()
            if (
                reserved := _reservation(
                    container.get("cpu"), container.get("memoryReservation") or container.get("memory")
                )
            )
        },
        detail="" if ready is not False else f"{status}{health}{why}",
    )


def _identities(one: Raw, host: Collection[str]) -> Iterator[str | None]:
    """Yield its ids, and where it is reached. A task without an address of its own is named by its host's ports."""
    yield from (one["taskArn"], one["taskArn"].rpartition("/")[2])
    for attachment in one.get("attachments") or ():
        details = {each["name"]: each.get("value") for each in attachment.get("details") or ()}
        yield from (details.get(key) for key in ("privateIPv4Address", "privateDnsName"))
    for container in one.get("containers") or ():
        yield container.get("runtimeId")
        for interface in container.get("networkInterfaces") or ():
            yield from (interface.get("privateIpv4Address"), interface.get("ipv6Address"))
        for binding in container.get("networkBindings") or ():
            yield from (f"{address}:{binding['hostPort']}" for address in host if binding.get("hostPort"))


def _reservation(cpu: Any, memory: Any) -> Mapping[str, Milli]:
    """Return thousandths of cores and bytes. AWS writes units of 1/1024 core and MiB, as numbers or texts."""
    found = {"cpu": int(cpu or 0) * 1000 // _UNITS_PER_CORE, "memory": int(memory or 0) * _MEBIBYTE * 1000}
    return {name: milli for name, milli in found.items() if milli > 0}
