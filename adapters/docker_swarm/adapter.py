"""The adapter for the services of a Swarm manager."""

import os
import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING, ClassVar, Final

from tenacity import Retrying, retry_if_exception_type, stop_after_attempt, wait_random

from adapters.docker_swarm.labels import discover
from adapters.docker_swarm.raw import REPLACED, STAYING, OutOfSequence, Raw, unavailable_if_malformed
from adapters.docker_swarm.rollouts import OnRollout, rollout
from adapters.docker_swarm.settings import Endpoint, SwarmSettings, resolve
from adapters.docker_swarm.state import at_rest, read_target, replicas, revision
from autoscaler.target import (
    Adapter,
    AdapterContext,
    AdapterError,
    Call,
    Conflict,
    Discovery,
    ScaleChange,
    ScaleOutcome,
    TargetError,
    TargetNotFound,
    TargetRef,
    TargetState,
    TargetUnavailable,
    Written,
    check_before_write,
    nothing_written,
)
from autoscaler.target.http import Addresses

if TYPE_CHECKING:
    from adapters.docker_swarm.engine import EngineSession

_NAME: Final = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?")
"""Docker's rule for a service name."""
_ATTEMPTS: Final = 5
"""Attempts of one write when other clients update the service at the same time."""
_PAUSE_SECONDS: Final = 0.2
"""The longest pause between two attempts."""


class DockerSwarm(Adapter):
    """Sets the number of replicas of replicated services and changes nothing else."""

    Settings: ClassVar = SwarmSettings
    discover_keys: ClassVar = frozenset({"labels"})

    def __init__(self, context: AdapterContext[SwarmSettings]) -> None:
        from adapters.docker_swarm.engine import Engine  # noqa: PLC0415 - loading the class must not import docker

        self._addresses: Final = Addresses(_endpoints(context), context.name, context.clock, context.logger)
        self._engine: Final = Engine(self._addresses, context.clock)
        self._on_rollout: Final = context.settings.on_rollout
        self._name: Final = context.name

    @staticmethod
    def target_problem(target: TargetRef, settings: SwarmSettings) -> str | None:  # noqa: ARG004 - the contract's
        """Return why no service can have this name, or None."""
        if _NAME.fullmatch(target.name):
            return None
        return (
            f"name: {target.name!r} is not a valid service name; write it as `docker service ls` shows it, "
            "of letters, digits, _, . and -, at most 63"
        )

    @staticmethod
    def place(settings: SwarmSettings) -> str:
        """Return the engines' addresses."""
        return " ".join(sorted(str(each) for each in resolve(settings, os.environ)))

    def observe(self, targets: Sequence[TargetRef], call: Call) -> Mapping[TargetRef, TargetState | TargetError]:
        """Read all targets with three lists (services, tasks, nodes), and one more while tasks change."""
        return self._addresses.observe(lambda: self._observe(targets, call), call) if targets else {}

    def _observe(self, targets: Sequence[TargetRef], call: Call) -> Mapping[TargetRef, TargetState | TargetError]:
        with self._engine.session(call) as engine:
            by_name, problem = _by_name(engine.services())
            found = {target: by_name.get(target.name) or problem or _not_found(target) for target in targets}
            found = {target: _scalable(service, target) for target, service in found.items()}
            services = [service for service in found.values() if not isinstance(service, TargetError)]
            tasks = _tasks(engine, services) if services else {}
            nodes = engine.nodes() if services else []
        return {target: _state(service, tasks, nodes, self._on_rollout) for target, service in found.items()}

    def scale(self, target: TargetRef, change: ScaleChange, call: Call) -> ScaleOutcome:
        """Post the service's spec with another size. After a concurrent update, read and check again, up to five
        times.
        """
        return self._addresses.run(lambda: self._scale(target, change, call), call)

    def _scale(self, target: TargetRef, change: ScaleChange, call: Call) -> ScaleOutcome:
        overtaken = Conflict(f"service {target.name} was changed by others {_ATTEMPTS} times during this write")
        retrying = Retrying(
            retry=retry_if_exception_type(OutOfSequence),
            stop=stop_after_attempt(_ATTEMPTS),
            wait=wait_random(0, _PAUSE_SECONDS),
            retry_error_callback=lambda _: overtaken,
        )
        with ExitStack() as leaving:
            with nothing_written():
                engine = leaving.enter_context(self._engine.session(call))
            outcome: ScaleOutcome = retrying(_scale_once, engine, target, change, self._on_rollout)
        return outcome

    def try_write(self, target: TargetRef, call: Call) -> str:
        """Update the service with a version that it cannot have. An engine that permits updates refuses the version."""
        return self._addresses.run(lambda: self._try_write(target, call), call)

    def _try_write(self, target: TargetRef, call: Call) -> str:
        with self._engine.session(call) as engine:
            service = engine.service(target.name)
            with unavailable_if_malformed(f"service {target.name}"):
                replicas(service)
            try:
                engine.update_in_vain(service)
            except OutOfSequence:
                return "permitted: the engine refused an update only for its version, which was wrong on purpose"
        raise TargetUnavailable(
            f"service {target.name}: an update with a wrong version was accepted; is a Docker engine at the address?"
        )

    def discover(self, namespaces: Collection[str], known: Collection[TargetRef], call: Call) -> Discovery:  # noqa: ARG002 - services have no namespaces
        """Return the autoscalers in the labels of services, as `Adapter.discover` says."""
        return self._addresses.observe(lambda: self._discover(known, call), call)

    def _discover(self, known: Collection[TargetRef], call: Call) -> Discovery:
        with self._engine.session(call) as engine:
            return discover(engine, self._name, known)

    def failing_addresses(self, call: Call) -> Mapping[str, str]:
        """Return the addresses where no manager answers -> why."""

        def list_nodes(call: Call) -> None:
            with self._engine.session(call) as engine:
                engine.nodes()

        return self._addresses.failing(list_nodes, call)


def _endpoints(context: AdapterContext[SwarmSettings]) -> Sequence[Endpoint]:
    try:
        endpoints = resolve(context.settings, os.environ)
    except ValueError as error:
        raise AdapterError(f"adapter {context.name}: DOCKER_HOST: {error}") from None
    for endpoint in endpoints:
        for file in endpoint.tls.files if endpoint.tls is not None else ():
            if not os.access(file, os.R_OK):
                raise AdapterError(f"adapter {context.name}: {file} cannot be read; it is needed for TLS to {endpoint}")
    return endpoints


def _scale_once(engine: "EngineSession", target: TargetRef, change: ScaleChange, on_rollout: OnRollout) -> ScaleOutcome:
    with nothing_written(), unavailable_if_malformed(f"service {target.name}"):
        service = engine.service(target.name)
        current, found, hold = replicas(service), revision(service), rollout(service, on_rollout)
    unsent = check_before_write(f"service {target.name}", change, current, found, hold)
    if unsent is not None:
        return unsent
    engine.resize(service, change.size)
    return Written(change.size)


def _by_name(listed: Iterable[Raw]) -> tuple[Mapping[str, Raw], TargetError | None]:
    """Return the services by name, and why others may be missing: one of the list has no name; None: each has one."""
    found: dict[str, Raw] = {}
    problem: TargetError | None = None
    for service in listed:
        try:
            with unavailable_if_malformed("the list of services"):
                found[service["Spec"]["Name"]] = service
        except TargetError as error:
            problem = error
    return found, problem


def _not_found(target: TargetRef) -> TargetError:
    return TargetNotFound(f"service {target.name} does not exist; create it, or correct the name")


def _scalable(service: Raw | TargetError, target: TargetRef) -> Raw | TargetError:
    if isinstance(service, TargetError):
        return service
    try:
        with unavailable_if_malformed(f"service {target.name}"):
            _ = replicas(service), str(service["ID"])
    except TargetError as error:
        return error
    return service


def _tasks(engine: "EngineSession", services: Sequence[Raw]) -> Mapping[str, list[Raw] | TargetError]:
    """Return service id -> tasks, or the error of one of them. Replaced tasks are requested only of moving services."""
    tasks: defaultdict[str, list[Raw]] = defaultdict(list)
    nameless = _group(engine.tasks([service["ID"] for service in services], STAYING), tasks)
    moving, failed = list[str](), dict[str, TargetError]()
    for service in services:
        try:
            with unavailable_if_malformed(f"a task of service {service['Spec']['Name']}"):
                if not at_rest(service, tasks[service["ID"]]):
                    moving.append(service["ID"])
        except TargetError as error:
            failed[service["ID"]] = error
    if moving:
        nameless = _group(engine.tasks(moving, REPLACED), tasks) or nameless
    if nameless is not None:  # a service at rest has all of its tasks
        failed |= dict.fromkeys(moving, nameless)
    return {**tasks, **failed}


def _group(found: Iterable[Raw], tasks: Mapping[str, list[Raw]]) -> TargetError | None:
    """Add each task to those of its service. Return why some may be missing: one names no service; None: each does."""
    problem: TargetError | None = None
    for task in found:
        try:
            with unavailable_if_malformed("the list of tasks"):
                tasks[task["ServiceID"]].append(task)
        except TargetError as error:
            problem = error
    return problem


def _state(
    service: Raw | TargetError,
    tasks: Mapping[str, list[Raw] | TargetError],
    nodes: Sequence[Raw],
    on_rollout: OnRollout,
) -> TargetState | TargetError:
    if isinstance(service, TargetError):
        return service
    own = tasks[service["ID"]]
    if isinstance(own, TargetError):
        return own
    try:
        with unavailable_if_malformed(f"service {service['Spec']['Name']}"):
            return read_target(service, own, nodes, on_rollout)
    except TargetError as error:
        return error
