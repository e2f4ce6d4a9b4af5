"""moto's server with the extension, on a free port, in the test's own process."""

import io
import json
import os
import re
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from typing import Any, Final, cast
from unittest.mock import patch
from urllib.parse import parse_qs

import boto3
import moto.autoscaling.models
import moto.autoscaling.urls
import moto.ecs.urls
from botocore.config import Config
from moto.applicationautoscaling.models import applicationautoscaling_backends
from moto.autoscaling.models import autoscaling_backends
from moto.core.base_backend import BackendDict
from moto.ecs.models import ecs_backends
from moto.moto_server.werkzeug_app import DomainDispatcherApplication, create_backend_app
from werkzeug.serving import WSGIRequestHandler, make_server

from tests.servers.aws.backend import Backend, Responses
from tests.servers.aws.ecs import EcsBackend, EcsResponses
from tests.servers.aws.ecs_service import EcsService
from tests.servers.aws.group import Group
from tests.servers.aws.world import World
from tests.servers.faults import Fault, Faults

ACCOUNT: Final = "123456789012"
"""The access key of keys that moto has not issued."""
SOMEBODY: Final = "somebody"
"""The access key of the test's own requests, as of another client."""
REGION: Final = "eu-west-1"
IMAGE: Final = "ami-0a1b2c3d"
"""The image of each instance. moto does not check that it exists."""
_FILTER_VALUES: Final = 200
_PATIENCE_SECONDS: Final = 600
"""A busy machine takes minutes for what a quiet one does in a second. If the first request fails, each test fails."""
_IN_JSON: Final = ("ecs", "application-autoscaling")
"""Services that speak JSON."""


@dataclass(frozen=True, slots=True)
class Request:
    """A request that arrived."""

    action: str
    """The action, as a policy names it: `autoscaling:SetDesiredCapacity`."""
    parameters: dict[str, Any]
    access_key: str


@dataclass(slots=True)
class AwsServer:
    """A running server. `faults` match a request's action; their `first` is called before the answer."""

    url: str
    world: World
    faults: Faults
    requests: list[Request] = field(default_factory=list)
    roles: dict[str, str] = field(default_factory=dict)
    """Role ARN -> the external id that its trust policy requires."""
    allowed: frozenset[str] | None = None
    """Actions that IAM allows to all keys but SOMEBODY; None: every action."""
    _clients: dict[tuple[str, str], Any] = field(default_factory=dict)

    def reset(self) -> None:
        """Delete groups, services, requests and the world's settings."""
        for backends in (autoscaling_backends, ecs_backends, applicationautoscaling_backends):
            for account in backends.values():
                account.reset()
        for name, value in asdict(World()).items():
            setattr(self.world, name, value)
        self.faults.faults.clear()
        self.requests.clear()
        self.roles.clear()
        self.allowed = None

    def client(self, service: str, key: str = SOMEBODY) -> Any:
        """Return a plain boto3 client. Requests with the default key are neither noted nor refused."""
        if (service, key) not in self._clients:
            make: Any = boto3.client  # its stubs require a literal
            self._clients[service, key] = make(
                service,
                region_name=REGION,
                endpoint_url=self.url,
                aws_access_key_id=key,
                aws_secret_access_key="else",
                config=Config(retries={"total_max_attempts": 1}, read_timeout=_PATIENCE_SECONDS),
            )
        return self._clients[service, key]

    @property
    def backend(self) -> Backend:
        """Return the backend, for changes without the API."""
        return cast("Backend", autoscaling_backends[ACCOUNT][REGION])

    def groups(self) -> dict[str, Group]:
        """Return the groups by name."""
        return {name: cast("Group", group) for name, group in self.backend.autoscaling_groups.items()}

    def services(self) -> dict[str, EcsService]:
        """By CLUSTER/SERVICE."""
        return cast("EcsBackend", ecs_backends[ACCOUNT][REGION]).running

    def create_launch_template(self) -> None:
        """Create the launch template `worker`, which groups use."""
        template = {"ImageId": IMAGE, "InstanceType": "m5.large"}
        self.client("ec2").create_launch_template(LaunchTemplateName="worker", LaunchTemplateData=template)

    def create_group(self, name: str, size: int, least: int = 0, most: int = 10, **more: Any) -> None:
        """Create a group of the launch template `worker`, unless `more` sets another source."""
        if "MixedInstancesPolicy" not in more:
            more["LaunchTemplate"] = {"LaunchTemplateName": "worker"}
        self.client("autoscaling").create_auto_scaling_group(
            AutoScalingGroupName=name,
            MinSize=least,
            MaxSize=most,
            DesiredCapacity=size,
            **({"AvailabilityZones": [f"{REGION}a"]} | more),
        )

    def create_hook(self, group: str, name: str, heartbeat_seconds: int, transition: str = "TERMINATING") -> None:
        """Create a lifecycle hook of a group."""
        self.client("autoscaling").put_lifecycle_hook(
            AutoScalingGroupName=group,
            LifecycleHookName=name,
            LifecycleTransition=f"autoscaling:EC2_INSTANCE_{transition}",
            HeartbeatTimeout=heartbeat_seconds,
        )

    def create_many(self, names: Iterable[str]) -> None:
        """Create empty groups of the launch template `worker`, without a request for each."""
        for name in names:
            self.backend.create_auto_scaling_group(
                name=name,
                availability_zones=[f"{REGION}a"],
                desired_capacity=0,
                max_size=10,
                min_size=0,
                launch_config_name="",
                launch_template={"LaunchTemplateName": "worker"},
                vpc_zone_identifier=None,
                default_cooldown=None,
                health_check_period=None,
                health_check_type=None,
                load_balancers=[],
                target_group_arns=[],
                placement_group=None,
                termination_policies=[],
                tags=[],
            )

    def refuse(self, action: str, code: str, message: str = "no", status: int = 400, times: int | None = None) -> Fault:
        """Answer matching requests with an error in AWS' form, so often or until the fault is removed."""
        error = f"<Error><Type>Sender</Type><Code>{code}</Code><Message>{message}</Message></Error>"
        body = f"<ErrorResponse>{error}<RequestId>1</RequestId></ErrorResponse>"
        if action.startswith("ec2"):  # another protocol has another form
            body = f"<Response><Errors>{error}</Errors><RequestID>1</RequestID></Response>"
        kind = "text/xml"
        if action.startswith(_IN_JSON):
            body, kind = json.dumps({"__type": code, "message": message}), "application/x-amz-json-1.1"
        fault = Fault(action, status, body, kind, times=times)
        self.faults.faults.append(fault)
        return fault

    def count(self, pattern: str = "") -> int:
        """Return the number of matching requests of the adapter, without the test's own."""
        return sum(bool(re.search(pattern, one.action)) for one in self.requests if one.access_key != SOMEBODY)


class _Door:
    """Handles every request: it is noted, refused or delayed if a test says so, and answered one at a time."""

    def __init__(self, server: AwsServer) -> None:
        self._server = server
        self._moto: Any = DomainDispatcherApplication(create_backend_app)
        self._lock = threading.Lock()

    def __call__(self, environ: dict[str, Any], start: Callable[..., Any]) -> Any:
        request = _parsed(environ)
        if request.access_key != SOMEBODY:
            self._server.requests.append(request)
            fault = self._server.faults.take(request.action)
            if fault is not None and fault.first is not None:
                fault.first()
            elif fault is not None:
                return self._misbehave(fault, start)
        refused = self._refusal(request)
        if refused is not None:
            return self._misbehave(refused, start)
        with self._lock:
            return [b"".join(self._moto(environ, start))]

    def _refusal(self, request: Request) -> Fault | None:
        role, external = request.parameters.get("RoleArn"), request.parameters.get("ExternalId")
        if request.action == "sts:AssumeRole" and self._server.roles.get(str(role), external) != external:
            # IAM User Guide, id_roles_common-scenarios_third-party: the wrong external id, and no access.
            return _once(self._server, "sts", "AccessDenied", 403)
        if not (
            self._server.allowed is None or request.access_key == SOMEBODY or request.action in self._server.allowed
        ):
            # IAM User Guide, reference_policies_evaluation-logic: what no policy allows is denied.
            service = request.action.split(":")[0]
            return _once(self._server, service, "UnauthorizedOperation" if service == "ec2" else "AccessDenied", 403)
        values = [name for name in request.parameters if name.startswith("Filter.1.Value")]
        if len(values) > _FILTER_VALUES:  # EC2 API Reference, DescribeInstances
            return _once(self._server, "ec2", "FilterLimitExceeded", 400)
        return None

    def _misbehave(self, fault: Fault, start: Callable[..., Any]) -> Iterator[bytes]:
        self._server.faults.ending.wait(fault.delay_seconds)
        content = fault.body.encode()
        start(f"{fault.status} said so", [("Content-Type", fault.content_type), ("Content-Length", str(len(content)))])
        if not fault.trickle_seconds:
            return iter([content])
        return self._trickle(content, fault.trickle_seconds)

    def _trickle(self, content: bytes, seconds: float) -> Iterator[bytes]:
        for byte in content:
            if self._server.faults.ending.wait(seconds):
                return
            yield bytes((byte,))


class _Quiet(WSGIRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # headers and body are two writes: the second must not wait for the client's ACK

    def log(self, *_: Any, **__: Any) -> None:
        """Log nothing."""


@contextmanager
def running_aws(world: World | None = None, *, port: int = 0) -> Iterator[AwsServer]:
    """Run a server without groups, on a free port by default.

    Only one at a time: moto's state belongs to the process.
    """
    server = AwsServer("", world or World(), Faults(""))
    BackendDict.reset()
    with (
        patch.dict(os.environ, MOTO_EC2_LOAD_DEFAULT_AMIS="false"),  # reading 1,291 images takes seconds
        patch.object(Group, "world", server.world, create=True),
        patch.object(moto.autoscaling.models, "FakeAutoScalingGroup", Group),
        patch.object(autoscaling_backends, "backend", Backend),
        patch.object(moto.autoscaling.urls, "url_paths", {"{0}/$": Responses.dispatch}),
        patch.object(EcsBackend, "world", server.world, create=True),
        patch.object(ecs_backends, "backend", EcsBackend),
        patch.object(moto.ecs.urls, "url_paths", {"{0}/$": EcsResponses.dispatch}),
    ):
        http = make_server("127.0.0.1", port, _Door(server), threaded=True, request_handler=_Quiet)
        thread = threading.Thread(target=http.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
        thread.start()
        server.url = f"http://127.0.0.1:{http.server_port}"
        try:
            yield server
        finally:
            server.faults.ending.set()
            http.shutdown()
            http.server_close()
            thread.join()
            BackendDict.reset()


def _parsed(environ: dict[str, Any]) -> Request:
    body = environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0))
    environ["wsgi.input"] = io.BytesIO(body)
    scope = re.search(r"Credential=([^/]+)/\d+/[^/]+/([^/]+)/", environ.get("HTTP_AUTHORIZATION", ""))
    key, service = scope.groups() if scope else ("", "unknown")
    if service in _IN_JSON:
        return Request(f"{service}:{environ.get('HTTP_X_AMZ_TARGET', '').rpartition('.')[2]}", json.loads(body), key)
    parameters = {name: values[0] for name, values in parse_qs(body.decode()).items()}
    return Request(f"{service}:{parameters.get('Action', 'nothing')}", parameters, key)


def _once(server: AwsServer, service: str, code: str, status: int) -> Fault:
    fault = server.refuse(service, code, "refused", status)
    server.faults.faults.remove(fault)
    return fault
