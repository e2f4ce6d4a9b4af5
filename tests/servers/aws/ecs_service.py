"""An ECS service whose tasks take time, and whose deployments can fail.

Each rule cites its page: DG is the Developer Guide (docs.aws.amazon.com/AmazonECS/latest/developerguide), API
the API Reference (…/AmazonECS/latest/APIReference).
"""

import itertools
import uuid
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Final

from moto.ecs.models import TaskDefinition

from tests.servers.aws.world import World

_NUMBERS: Final = itertools.count(1)
_ADDRESSES: Final = itertools.count(1)
_PORTS: Final = itertools.count(32768)
"""DG, task_definition_parameters: the host ports of tasks in the bridge mode are ephemeral."""
_FAILED_TASKS: Final = 3
"""DG, deployment-circuit-breaker: the smallest threshold."""


@dataclass(slots=True)
class EcsTask:
    """API, Task. DG, task-lifecycle-explanation: PROVISIONING, PENDING, …, RUNNING, …, STOPPED."""

    arn: str
    definition: TaskDefinition
    deployment: "Deployment"
    created: datetime
    host: str | None
    """ARN of the container instance on which it runs, with ports of that instance; None: it has its own interface."""
    address: str
    port: int
    health: str
    status: str = "PROVISIONING"
    desired: str = "RUNNING"
    started: datetime | None = None
    stopping: datetime | None = None
    protected_until: datetime | None = None
    """API, ProtectedTask."""

    def protection(self, now: datetime) -> dict[str, Any]:
        """API, ProtectedTask: an expired protection is none."""
        enabled = self.protected_until is not None and self.protected_until > now
        return {
            "taskArn": self.arn,
            "protectionEnabled": enabled,
            **({"expirationDate": self.protected_until} if enabled else {}),
        }

    @property
    def id(self) -> str:
        return self.arn.rpartition("/")[2]

    def described(self, service: "EcsService") -> dict[str, Any]:
        """API, Task."""
        container = self.definition.container_definitions[0]
        interfaces = [] if self.host else [{"attachmentId": self.id, "privateIpv4Address": self.address}]
        bindings = [{"bindIP": "0.0.0.0", "containerPort": 80, "hostPort": self.port, "protocol": "tcp"}]
        details = {
            "privateIPv4Address": self.address,
            "privateDnsName": f"ip-{self.address.replace('.', '-')}.internal",
        }
        attachment = {
            "id": self.id,
            "type": "ElasticNetworkInterface",
            "status": "ATTACHED",
            "details": [{"name": name, "value": value} for name, value in details.items()],
        }
        return {
            "taskArn": self.arn,
            "clusterArn": service.cluster_arn,
            "group": f"service:{service.name}",
            "startedBy": self.deployment.id,
            "taskDefinitionArn": self.definition.arn,
            "lastStatus": self.status,
            "desiredStatus": self.desired,
            "healthStatus": self.health if self.status == "RUNNING" else "UNKNOWN",
            "createdAt": self.created,
            "startedAt": self.started,
            "cpu": self.definition.cpu,
            "memory": self.definition.memory,
            "containerInstanceArn": self.host,
            "attachments": [] if self.host else [attachment],
            "containers": [
                {
                    "name": container["name"],
                    "runtimeId": f"{self.id}-1",
                    "networkInterfaces": interfaces,
                    "networkBindings": bindings if self.host else [],
                    "cpu": str(container.get("cpu", 0)),
                    "memory": str(container["memory"]) if "memory" in container else None,
                }
            ],
        }


@dataclass(slots=True)
class Deployment:
    """API, Deployment."""

    definition: TaskDefinition
    created: datetime
    reason: str = ""
    status: str = "PRIMARY"
    state: str = "IN_PROGRESS"
    failed_tasks: int = 0
    next_try: datetime | None = None
    id: str = field(default_factory=lambda: f"ecs-svc/{next(_NUMBERS):019d}")

    def described(self, service: "EcsService") -> dict[str, Any]:
        mine = [one for one in service.tasks if one.deployment is self]
        return {
            "id": self.id,
            "status": self.status,
            "taskDefinition": self.definition.arn,
            "desiredCount": service.desired if self.status == "PRIMARY" else 0,
            "runningCount": sum(one.status == "RUNNING" for one in mine),
            "pendingCount": sum(one.status == "PROVISIONING" for one in mine),
            "failedTasks": self.failed_tasks,
            "createdAt": self.created,
            "updatedAt": self.created,
            "rolloutState": self.state,
            "rolloutStateReason": self.reason or f"ECS deployment {self.id} {self.state.lower().replace('_', ' ')}.",
        }


class EcsService:
    """Comes to its desired count as time passes: `settle` is called around every request."""

    def __init__(
        self,
        name: str,
        cluster_arn: str,
        definition: TaskDefinition,
        desired: int,
        world: World,
        options: Mapping[str, Any],
        hosts: Mapping[str, str],
    ) -> None:
        """`options`: the other parameters of CreateService. `hosts`: ARN -> address of the container instances."""
        self.name = name
        self.cluster_arn = cluster_arn
        self.desired = desired
        self.world = world
        self.options = dict(options)
        self.hosts = hosts
        self.status = "ACTIVE"
        self.tasks: list[EcsTask] = []
        self.task_sets: list[dict[str, Any]] = []
        self.deployments = [Deployment(definition, world.now)]
        self.completed = self.deployments[0]
        """The last deployment that reached a steady state."""
        self.history = [(world.now, desired)]

    @property
    def key(self) -> str:
        return f"{self.cluster_arn.rpartition('/')[2]}/{self.name}"

    def resize(self, size: int) -> None:
        """API, UpdateService: desiredCount starts no deployment."""
        self.desired = size
        self.history.append((self.world.now, size))

    def deploy(self, definition: TaskDefinition, reason: str = "") -> None:
        """DG, deployment-type-ecs: the new deployment is PRIMARY, and the tasks of others are replaced."""
        for one in self.deployments:
            one.status = "ACTIVE"
        self.deployments.insert(0, Deployment(definition, self.world.now, reason))

    def settle(self) -> None:
        """Let happen what is due now."""
        now = self.world.now
        for task in list(self.tasks):
            self._proceed(task, now)
        if self.options.get("schedulingStrategy") != "DAEMON":
            self._launch(now)
        self._stop(now)
        for task in list(self.tasks):
            self._proceed(task, now)
        if self.status == "DRAINING" and not self.tasks:
            self.status = "INACTIVE"
        primary, running = self.deployments[0], [one for one in self.tasks if one.desired == "RUNNING"]
        self.deployments = [
            primary,
            *(one for one in self.deployments[1:] if any(t.deployment is one for t in self.tasks)),
        ]
        steady = len(running) == self.desired and all(one.status == "RUNNING" for one in running)
        if steady and len(self.deployments) == 1 and primary.state == "IN_PROGRESS":
            primary.state, primary.reason, self.completed = "COMPLETED", "", primary

    def described(self, *, tags: bool) -> dict[str, Any]:
        """API, Service. The desired count is as old as the world says."""
        seen = self.world.now - timedelta(seconds=self.world.lag_seconds)
        sizes = [size for when, size in self.history if when <= seen] or [self.history[0][1]]
        running, pending = (sum(one.status == each for one in self.tasks) for each in ("RUNNING", "PROVISIONING"))
        return {
            "schedulingStrategy": "REPLICA",
            "deploymentController": {"type": "ECS"},
            "serviceName": self.name,
            "serviceArn": self.cluster_arn.replace(":cluster/", ":service/") + f"/{self.name}",
            "clusterArn": self.cluster_arn,
            "status": self.status,
            "desiredCount": sizes[-1],
            "runningCount": running,
            "pendingCount": pending,
            "taskDefinition": self.deployments[0].definition.arn,
            "deployments": [one.described(self) for one in self.deployments],
            "taskSets": self.task_sets,
            "events": [],
            **self.options,
            "tags": self.options.get("tags", []) if tags else [],
        }

    def _launch(self, now: datetime) -> None:
        """DG, service-concepts: the scheduler replaces what stops; a deployment may have twice the desired count."""
        primary = self.deployments[0]
        mine = [one for one in self.tasks if one.deployment is primary and one.desired == "RUNNING"]
        while self.status == "ACTIVE" and len(mine) < self.desired and primary.state != "FAILED":
            if self.world.launch_failure is not None and primary.definition is not self.completed.definition:
                self._fail(primary, now)
                return
            mine.append(self._start(primary, now))

    def _fail(self, primary: Deployment, now: datetime) -> None:
        """DG, deployment-circuit-breaker: tasks that do not reach RUNNING let the deployment fail."""
        if primary.next_try is not None and now < primary.next_try:
            return
        primary.failed_tasks += 1
        primary.next_try = now + timedelta(seconds=self.world.retry_seconds)
        breaker = (self.options.get("deploymentConfiguration") or {}).get("deploymentCircuitBreaker") or {}
        if primary.failed_tasks >= _FAILED_TASKS and breaker.get("enable"):
            primary.state, primary.reason = "FAILED", "ECS deployment circuit breaker: tasks failed to start."
            if breaker.get("rollback"):
                back = f"ECS deployment circuit breaker: rolling back to deploymentId {self.completed.id}."
                self.deploy(self.completed.definition, back)
                for task in self.tasks:  # tasks of that revision go on
                    if task.deployment is self.completed:
                        task.deployment = self.deployments[0]

    def _start(self, deployment: Deployment, now: datetime) -> EcsTask:
        number = next(_ADDRESSES)
        host, address = None, f"10.1.{number // 250 % 250}.{number % 250 + 1}"
        if self.hosts:
            host, address = list(self.hosts.items())[number % len(self.hosts)]
        checks = any(one.get("healthCheck") for one in deployment.definition.container_definitions)
        arn = self.cluster_arn.replace(":cluster/", ":task/") + f"/{uuid.uuid4().hex}"
        health = "HEALTHY" if checks else "UNKNOWN"
        task = EcsTask(arn, deployment.definition, deployment, now, host, address, next(_PORTS), health)
        self.tasks.append(task)
        self.world.on_launch(arn)
        return task

    def _stop(self, now: datetime) -> None:
        """DG, deployment-type-ecs: old tasks stop when new ones run, the newest of too many stop first.

        DG, task-scale-in-protection: a protected task is not stopped, also while too many run.
        """
        primary = self.deployments[0]
        mine = [one for one in self.tasks if one.deployment is primary and one.desired == "RUNNING"]
        old = [one for one in self.tasks if one.deployment is not primary and one.desired == "RUNNING"]
        ready = sum(one.status == "RUNNING" for one in mine)
        wanted = 0 if self.status != "ACTIVE" else self.desired
        surplus = len(mine) - wanted, len(old) - max(0, wanted - ready)
        for tasks, count in zip((mine, old), surplus, strict=True):
            free = [one for one in tasks if self.status != "ACTIVE" or not one.protection(now)["protectionEnabled"]]
            self.stop(free[::-1][: max(0, count)], now)

    def stop(self, tasks: Iterable[EcsTask], now: datetime) -> None:
        """API, StopTask: the desired status is STOPPED at once."""
        for one in tasks:
            one.desired, one.stopping = "STOPPED", now
            one.status = "DEACTIVATING" if one.status == "RUNNING" else "STOPPED"

    def _proceed(self, task: EcsTask, now: datetime) -> None:
        if task.status == "PROVISIONING" and (now - task.created).total_seconds() >= self.world.launch_seconds:
            task.status, task.started = "RUNNING", now
        elif task.stopping is not None and (now - task.stopping).total_seconds() >= self.world.terminate_seconds:
            task.status = "STOPPED"
        if task.status == "STOPPED":
            self.tasks.remove(task)
            self.world.on_end(task.arn)
