"""The ECS API on services that run tasks, which moto's do not; clusters, task definitions and the rest are moto's."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Any, cast

import moto.ecs.urls
from moto.core.common_types import TYPE_RESPONSE
from moto.core.responses import ActionResult
from moto.ec2.models import ec2_backends
from moto.ecs.exceptions import InvalidParameterException, ServiceNotFoundException
from moto.ecs.models import EC2ContainerServiceBackend
from moto.ecs.responses import EC2ContainerServiceResponse

from tests.servers.aws.ecs_service import EcsService, EcsTask
from tests.servers.aws.world import World

_KEYS = ("cluster", "serviceName", "taskDefinition", "desiredCount")
_SERVICES_PER_CALL, _TASKS_PER_CALL, _PROTECTED_PER_CALL = 10, 100, 10
_MAX_MINUTES, _DEFAULT_MINUTES = 2880, 120


class EcsBackend(EC2ContainerServiceBackend):
    """Services by CLUSTER/SERVICE."""

    world: World
    _url_module = moto.ecs.urls  # moto would look for it beside this file

    def __init__(self, region_name: str, account_id: str) -> None:
        super().__init__(region_name, account_id)
        self.running: dict[str, EcsService] = {}

    def service(self, cluster: str, name: str) -> EcsService:
        """API, UpdateService: ClusterNotFoundException, ServiceNotFoundException."""
        found = self.running.get(f"{self._get_cluster(cluster).name}/{name.rpartition('/')[2]}")
        if found is None:
            raise ServiceNotFoundException
        return found

    def describe_services(
        self, cluster_str: str, service_names_or_arns: list[str]
    ) -> tuple[list[Any], list[dict[str, str]]]:
        """API, DescribeServices: what is missing is a failure, and no error. Application Auto Scaling asks it, too."""
        cluster, found, failures = self._get_cluster(cluster_str), [], []
        for name in service_names_or_arns:
            service = self.running.get(f"{cluster.name}/{name.rpartition('/')[2]}")
            if service is None:
                failures.append({"arn": f"{cluster.arn}/{name}", "reason": "MISSING"})
            else:
                found.append(service)
        return found, failures

    def addresses(self, cluster: str) -> dict[str, str]:
        """ARN -> private address of the cluster's container instances."""
        ec2 = ec2_backends[self.account_id][self.region_name]
        found = self.container_instances.get(cluster, {}).values()
        return {one.container_instance_arn: str(ec2.get_instance(one.ec2_instance_id).private_ip) for one in found}


class EcsResponses(EC2ContainerServiceResponse):
    """Dispatches by the operation's name in snake case, as moto does."""

    @property
    def cloud(self) -> EcsBackend:
        return cast("EcsBackend", self.ecs_backend)

    def call_action(self) -> TYPE_RESPONSE:
        """Time passes before a request, and what it sets in motion begins after it."""
        self._settle()
        answer: TYPE_RESPONSE = super().call_action()
        self._settle()
        return answer

    def _settle(self) -> None:
        for service in self.cloud.running.values():
            service.settle()

    def _cluster(self) -> str:
        return str(self._get_param("cluster", "default"))

    def _service(self) -> EcsService:
        return self.cloud.service(self._cluster(), self._get_param("service"))

    def create_service(self) -> ActionResult:
        """API, CreateService."""
        parameters, cluster = self._get_params(), self.cloud._get_cluster(self._cluster())
        definition = self.cloud.describe_task_definition(parameters["taskDefinition"])
        bridge = definition.network_mode != "awsvpc"
        service = EcsService(
            parameters["serviceName"],
            cluster.arn,
            definition,
            int(parameters.get("desiredCount", 0)),
            self.cloud.world,
            {key: value for key, value in parameters.items() if key not in _KEYS},
            self.cloud.addresses(cluster.name) if bridge else {},
        )
        self.cloud.running[service.key] = service
        return ActionResult({"service": service.described(tags=True)})

    def describe_services(self) -> ActionResult:
        """API, DescribeServices: up to 10 services, tags only with `include`."""
        names = self._get_param("services", [])
        if len(names) > _SERVICES_PER_CALL:
            raise InvalidParameterException("Services cannot have more than 10 elements.")
        found, failures = self.cloud.describe_services(self._cluster(), names)
        tags = "TAGS" in self._get_param("include", [])
        return ActionResult({"services": [one.described(tags=tags) for one in found], "failures": failures})

    def update_service(self) -> ActionResult:
        """API, UpdateService: each parameter but the service is optional; a new task definition starts a deployment."""
        service, size = self._service(), self._get_param("desiredCount")
        if service.status != "ACTIVE":
            raise InvalidParameterException("Service is not active.")
        if size is not None:
            if int(size) < 0:
                raise InvalidParameterException("desiredCount cannot be negative.")
            service.resize(int(size))
        if self._get_param("taskDefinition") or self._get_param("forceNewDeployment"):
            wanted = self._get_param("taskDefinition") or service.deployments[0].definition.arn
            service.deploy(self.cloud.describe_task_definition(wanted))
        return ActionResult({"service": service.described(tags=True)})

    def delete_service(self) -> ActionResult:
        """API, DeleteService: DRAINING while tasks stop, then INACTIVE."""
        service = self._service()
        service.status = "DRAINING"
        return ActionResult({"service": service.described(tags=True)})

    def list_tasks(self) -> ActionResult:
        """API, ListTasks: by default those whose desired status is RUNNING, 100 a page."""
        desired, name = self._get_param("desiredStatus", "RUNNING"), self._get_param("serviceName")
        if name:
            services = [self.cloud.service(self._cluster(), name)]
        else:
            arn = self.cloud._get_cluster(self._cluster()).arn
            services = [one for one in self.cloud.running.values() if one.cluster_arn == arn]
        arns = [task.arn for service in services for task in service.tasks if task.desired == desired]
        start = int(self._get_param("nextToken") or 0)
        end = start + int(self._get_param("maxResults") or _TASKS_PER_CALL)
        return ActionResult({"taskArns": arns[start:end], "nextToken": str(end) if end < len(arns) else None})

    def describe_tasks(self) -> ActionResult:
        """API, DescribeTasks: up to 100 tasks; what is missing is a failure."""
        wanted: list[str] = self._get_param("tasks", [])
        if not 0 < len(wanted) <= _TASKS_PER_CALL:
            raise InvalidParameterException("Tasks must have 1 to 100 elements.")
        known, failures = self._tasks(wanted)
        return ActionResult({"tasks": [task.described(service) for service, task in known], "failures": failures})

    def get_task_protection(self) -> ActionResult:
        """API, GetTaskProtection: up to 100 tasks; what is missing is a failure."""
        wanted: list[str] = self._get_param("tasks", [])
        if len(wanted) > _TASKS_PER_CALL:
            raise InvalidParameterException("Tasks cannot have more than 100 elements.")
        known, failures = self._tasks(wanted)
        found = [task.protection(self.cloud.world.now) for _, task in known]
        return ActionResult({"protectedTasks": found, "failures": failures})

    def update_task_protection(self) -> ActionResult:
        """API, UpdateTaskProtection: up to 10 tasks, 1 to 2,880 minutes; each call sets the expiration anew."""
        wanted: list[str] = self._get_param("tasks", [])
        minutes = int(self._get_param("expiresInMinutes") or _DEFAULT_MINUTES)
        if not 0 < len(wanted) <= _PROTECTED_PER_CALL or not 0 < minutes <= _MAX_MINUTES:
            raise InvalidParameterException("Tasks must have 1 to 10 elements, expiresInMinutes 1 to 2880.")
        now, (known, failures) = self.cloud.world.now, self._tasks(wanted)
        for _, task in known:
            task.protected_until = now + timedelta(minutes=minutes) if self._get_param("protectionEnabled") else None
        return ActionResult({"protectedTasks": [task.protection(now) for _, task in known], "failures": failures})

    def _tasks(self, wanted: Sequence[str]) -> tuple[list[tuple[EcsService, EcsTask]], list[dict[str, str]]]:
        """Return those of the tasks that exist, and a failure for each other one."""
        known = {task.arn: (service, task) for service in self.cloud.running.values() for task in service.tasks}
        failures = [{"arn": arn, "reason": "MISSING"} for arn in wanted if arn not in known]
        return [known[arn] for arn in wanted if arn in known], failures
