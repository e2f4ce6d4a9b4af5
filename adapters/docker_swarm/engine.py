"""The Docker API calls that scaling needs. The deadline bounds each call; each failure is a TargetError.

Source: Docker Engine API 1.41 (services, tasks, nodes). Objects are read and posted raw: the SDK's models add defaults,
which Swarm treats as a new spec and replaces every task.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from copy import deepcopy
from http import HTTPStatus
from typing import Any, Final, TypeVar

import docker
import docker.utils
import requests

from adapters.docker_swarm.dialer import Dialer
from adapters.docker_swarm.failures import EngineRefusal, failure, refused
from adapters.docker_swarm.raw import OutOfSequence, Raw, unavailable_if_malformed
from adapters.docker_swarm.settings import Endpoint, Scheme
from autoscaler.target import (
    Call,
    Clock,
    TargetDeferred,
    TargetError,
    TargetNotFound,
    TargetNotWritten,
    TargetUnavailable,
)
from autoscaler.target.http import (
    MAX_ANSWER,
    Addresses,
    HttpError,
    Malformed,
    NextAddress,
    TooLarge,
    cannot_serve,
    decoded,
)
from autoscaler.target.http import Session as BoundedSession

_T = TypeVar("_T")

OLDEST_API: Final = "1.41"
"""Docker Engine 20.10, the first version that counts tasks (`status=true`)."""


_MAX_IDS: Final = 100
"""The engine looks up each service in a task filter; for more services, listing all tasks is cheaper."""


_NO_VERSION: Final = 2**64 - 1
"""A service's version is an index of Swarm's log, which counts from 1; the API takes an unsigned 64-bit number."""


class Engine:
    """The engines of one connection, of which one is in use. It remembers each engine's API version."""

    def __init__(self, addresses: Addresses[Endpoint], clock: Clock) -> None:
        self._addresses = addresses
        self._clock = clock
        self._versions: dict[Endpoint, str] = {}

    @contextmanager
    def session(self, call: Call) -> Iterator["EngineSession"]:
        """Return a session with the engine in use, for one observation or write.

        Raises TargetError, and NextAddress within `Addresses.run`.
        """
        endpoint = self._addresses.current
        version = self._versions.get(endpoint)

        def left() -> float:
            return call.seconds_left(self._clock.monotonic())

        with (
            Dialer(endpoint) as dialer,
            closing(EngineSession(self._addresses, dialer, version or OLDEST_API, left)) as first,
        ):
            session = first
            if version is None:
                self._versions[endpoint] = version = first.version()
                session = first.speaking(version)
            try:
                yield session
            except (TargetUnavailable, TargetNotWritten, NextAddress):
                self._versions.pop(endpoint, None)  # a different engine may answer next time
                raise


class EngineSession:
    """The API calls to the engine in use. Every method raises TargetError or NextAddress, by the deadline."""

    def __init__(self, addresses: Addresses[Endpoint], dialer: Dialer, version: str, left: Callable[[], float]) -> None:
        """`left`: returns `Call.seconds_left`."""
        self._addresses = addresses
        self._endpoint = addresses.current
        self._dialer = dialer
        self._left = left
        self._client = _client(self._endpoint, dialer, version, addresses.connect_share)

    def close(self) -> None:
        """Close its connections."""
        self._client.close()

    def speaking(self, version: str) -> "EngineSession":
        """Return a session with the same connections and this API version."""
        other = EngineSession(self._addresses, self._dialer, version, self._left)
        other._client.mount(other._client.base_url, self._client.transport)
        return other

    def version(self) -> str:
        """Return the newest API version that the engine supports."""
        answer = self._ask("asking its version", lambda: self._client.version(api_version=False))
        with unavailable_if_malformed(f"{self._endpoint}: the version"):
            version = str(answer["ApiVersion"])
            too_old = docker.utils.version_lt(version, OLDEST_API)
        if too_old:
            raise TargetUnavailable(
                f"{self._endpoint} speaks Docker API {version}; "
                f"{OLDEST_API} or newer is needed: update it to Docker Engine 20.10 or newer"
            )
        return version

    def services(self) -> list[Raw]:
        """Return all services with their task counts."""
        return self._list("listing services", lambda: self._client.services(status=True))

    def nodes(self) -> list[Raw]:
        """Return all nodes."""
        return self._list("listing nodes", self._client.nodes)

    def tasks(self, service_ids: Sequence[str], desired: Sequence[str]) -> list[Raw]:
        """Return tasks of these services, and possibly of others, whose desired state is one of `desired`."""
        doing, states = "listing tasks", {"desired-state": list(desired)}
        if len(service_ids) <= _MAX_IDS:
            filters = {**states, "service": list(service_ids)}
            with suppress(TargetNotFound):  # the whole list fails when a service was removed meanwhile
                return self._objects(doing, self._ask(doing, lambda: self._client.tasks(filters)))
        return self._list(doing, lambda: self._client.tasks(states))

    def service(self, name: str) -> Raw:
        """Return one service. Raises TargetNotFound."""
        service = self._ask(f"reading service {name}", lambda: self._client.inspect_service(name))
        with unavailable_if_malformed(f"{self._endpoint}: service {name}"):
            found = service["Spec"]["Name"]
        if found != name:  # the engine also accepts the beginning of an id
            raise TargetNotFound(f"service {name} does not exist on {self._endpoint}; create it, or correct the name")
        return dict(service)

    def resize(self, service: Raw, replicas: int) -> None:
        """Send a service's spec back with another size. Raises OutOfSequence if the service has changed meanwhile."""
        with unavailable_if_malformed(f"{self._endpoint}: service {service['Spec']['Name']}"):
            spec, version = deepcopy(service["Spec"]), service["Version"]["Index"]
            spec["Mode"]["Replicated"]["Replicas"] = replicas
        self._ask(f"setting the size of service {spec['Name']}", self._update(service, spec, version), write=True)

    def update_in_vain(self, service: Raw) -> None:
        """Send an update that the engine refuses: the service's own spec, with a version that no service has.

        Raises OutOfSequence if the daemon may update the service, and another TargetError if it may not.
        """
        name = service["Spec"]["Name"]
        self._ask(f"testing an update of service {name}", self._update(service, service["Spec"], _NO_VERSION))

    def _update(self, service: Raw, spec: Raw, version: int) -> Callable[[], None]:
        with unavailable_if_malformed(f"{self._endpoint}: service {spec['Name']}"):
            url = f"{self._client.base_url}/v{self._client.api_version}/services/{service['ID']}/update"

        def post() -> None:
            self._client.post(url, json=spec, params={"version": version}, timeout=self._client.timeout)

        return post

    def _list(self, doing: str, call: Callable[[], Any]) -> list[Raw]:
        try:
            return self._objects(doing, self._ask(doing, call))
        except TargetNotFound as error:  # every engine has this path, so no target is missing
            raise TargetUnavailable(f"{error}; is there a Docker engine at the address?") from error

    def _objects(self, doing: str, answer: Any) -> list[Raw]:
        if isinstance(answer, list):
            objects = [one for one in answer if isinstance(one, dict)]
            if objects or not answer:
                return objects
        raise TargetUnavailable(
            f"{self._endpoint}: {doing}: the answer is not a list of objects; is there a Docker engine at the address?"
        )

    def _ask(self, doing: str, call: Callable[[], _T], *, write: bool = False) -> _T:
        left = self._left()
        where = f"{self._endpoint}: {doing}"
        if left <= 0:
            kind = TargetDeferred if write else TargetUnavailable
            raise kind(f"{where}: the cycle's deadline has passed; nothing was sent")
        self._client.timeout = left
        try:
            answer = call()
        except EngineRefusal as refusal:
            error = refused(where, refusal.answer, write=write)
            if not cannot_serve(refusal.answer.status_code):
                raise error from None
        except Malformed as wrong:
            raise TargetUnavailable(f"{where}: {wrong}; is there a Docker engine at the address?") from None
        except TooLarge as long:
            raise failure(self._endpoint, doing, long, "", write=write) from None
        except HttpError as lost:
            error = failure(self._endpoint, doing, lost, self._dialer.ssh_errors(), write=write)
        except TargetError as undialled:
            error = undialled
        else:
            self._addresses.answered()
            return answer
        raise self._addresses.failed(error, write=write)


class _Client(BoundedSession, docker.APIClient):
    """The SDK's client, with bounded requests and answers."""

    def _result(self, response: requests.Response, json: bool = False, binary: bool = False) -> Any:  # noqa: ARG002 - the SDK's signature; every answer is JSON
        return decoded(response.content, Any, MAX_ANSWER)


def _client(endpoint: Endpoint, dialer: Dialer, version: str, connect_share: Callable[[], float]) -> Any:
    """Return a docker.APIClient that has not connected. Its type is Any because the published types are incomplete.

    With `dialer.dial`, the client's URL is a placeholder.
    """
    scheme = "http" if endpoint.tls is None else "https"
    host = f"[{endpoint.address}]" if ":" in endpoint.address else endpoint.address
    url = f"{scheme}://{host}:{endpoint.port}" if endpoint.scheme is Scheme.TCP else "http://docker:2375"
    client = _Client(
        endpoint.tls,
        largest=MAX_ANSWER,
        dial=dialer.dial,
        connect_share=connect_share,
        base_url=url,
        version=version,
    )
    client.hooks["response"].append(_check)
    return client


def _check(answer: requests.Response, *_: Any, **__: Any) -> None:
    """Raise for an error before the SDK does, which fails on bodies that are not an engine's."""
    read = answer.request.method == "GET"
    if answer.status_code == HTTPStatus.OK or (answer.status_code < HTTPStatus.MULTIPLE_CHOICES and not read):
        return  # a read of another status, such as 203 or 206, may be a part
    out_of_sequence = answer.status_code == HTTPStatus.CONFLICT or b"out of sequence" in answer.content
    if answer.request.method == "POST" and out_of_sequence:
        raise OutOfSequence
    raise EngineRefusal(answer)
