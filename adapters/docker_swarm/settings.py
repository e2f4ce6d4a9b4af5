"""The settings of a connection, completed from the environment."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Final, Self
from urllib.parse import urlsplit

from pydantic import Field, field_validator, model_validator

from adapters.docker_swarm.rollouts import OnRollout
from autoscaler.target import AdapterSettings, TlsSettings
from autoscaler.target.http import Tls

DEFAULT_SOCKET: Final = "/var/run/docker.sock"
_FORMS: Final = "unix:///var/run/docker.sock, tcp://HOST:2376 or ssh://USER@HOST"


class Scheme(StrEnum):
    """How the daemon reaches the engine."""

    UNIX = "unix"
    TCP = "tcp"
    SSH = "ssh"


@dataclass(frozen=True, slots=True)
class Endpoint:
    """The address of an engine."""

    scheme: Scheme
    address: str
    """The socket's path; for the other schemes a host name or address."""
    port: int | None = None
    """SSH without a port: the SSH client's configuration applies."""
    user: str | None = None
    """For SSH only."""
    tls: Tls | None = None

    def __str__(self) -> str:
        if self.scheme is Scheme.UNIX:
            return f"unix://{self.address}"
        user = f"{self.user}@" if self.user else ""
        host = f"[{self.address}]" if ":" in self.address else self.address
        return f"{self.scheme}://{user}{host}" + (f":{self.port}" if self.port else "")


class SwarmSettings(AdapterSettings):
    """The Swarm manager. Omitted settings come from the DOCKER_* environment."""

    host: str | None = None
    """`unix://PATH`, `tcp://HOST[:PORT]` or `ssh://[USER@]HOST[:PORT]`; default: $DOCKER_HOST or local."""
    addresses: tuple[str, ...] | None = Field(default=None, min_length=1)
    """Several managers of one swarm, instead of `host`: the next one is used when one cannot serve."""
    tls: TlsSettings | None = None
    """TLS, only with tcp://. Default: the files in $DOCKER_CERT_PATH when $DOCKER_TLS_VERIFY is set, else none."""
    on_rollout: OnRollout = OnRollout.HOLD
    """What waits for the end of a rollout: all scaling, or scale-in alone."""

    @field_validator("host")
    @classmethod
    def _host(cls, value: str | None) -> str | None:
        if value is not None:
            parse_host(value)
        return value

    @field_validator("addresses")
    @classmethod
    def _addresses(cls, value: tuple[str, ...] | None) -> tuple[str, ...] | None:
        for each in value or ():
            parse_host(each)
        return value

    @model_validator(mode="after")
    def _one_key(self) -> Self:
        if self.host is not None and self.addresses is not None:
            raise ValueError("host and addresses are both given; keep one of them")
        return self

    @model_validator(mode="after")
    def _tls_on_tcp(self) -> Self:
        hosts = self.addresses or (() if self.host is None else (self.host,))
        if self.tls is not None and hosts and all(parse_host(host).scheme is not Scheme.TCP for host in hosts):
            raise ValueError(f"tls is only for a tcp:// host, and host is {', '.join(hosts)}; remove one of them")
        return self


def parse_host(text: str) -> Endpoint:
    """Return an endpoint without TLS and default ports. Raises ValueError that lists the accepted forms."""
    try:
        parts = urlsplit(text)
        scheme, port, host = Scheme(parts.scheme), parts.port, parts.hostname
    except ValueError:
        raise ValueError(f"{text!r} is not a valid engine address; write {_FORMS}") from None
    if parts.password is not None:
        raise ValueError("a password in host would be kept in plain text; remove it, and use a key or an agent")
    if scheme is Scheme.UNIX:
        if parts.netloc or not parts.path.startswith("/"):
            raise ValueError(f"{text!r} has no absolute path; write {_FORMS}")
        return Endpoint(scheme, parts.path)
    extra = parts.path.strip("/") or parts.query or parts.fragment or (parts.username and scheme is Scheme.TCP)
    if not host or host.startswith("-") or extra:
        raise ValueError(f"{text!r} is not a valid engine address; write {_FORMS}")
    return Endpoint(scheme, host, port, parts.username)


def resolve(settings: SwarmSettings, environment: Mapping[str, str]) -> tuple[Endpoint, ...]:
    """Return the endpoints, at least one; each field from the file, then the environment, then the local socket.

    The variables mean what they mean to the docker command line. Raises ValueError for an invalid $DOCKER_HOST.
    """
    one = settings.host or environment.get("DOCKER_HOST") or f"unix://{DEFAULT_SOCKET}"
    tls = settings.tls.files() if settings.tls is not None else _environment_tls(environment)
    return tuple(_complete(parse_host(host), tls) for host in settings.addresses or (one,))


def _complete(endpoint: Endpoint, tls: Tls | None) -> Endpoint:
    """Return the endpoint with the default port and TLS, which only tcp:// has."""
    if endpoint.scheme is not Scheme.TCP:
        return endpoint
    return Endpoint(Scheme.TCP, endpoint.address, endpoint.port or (2375 if tls is None else 2376), tls=tls)


def _environment_tls(environment: Mapping[str, str]) -> Tls | None:
    if not environment.get("DOCKER_TLS_VERIFY"):
        return None
    folder = Path(environment.get("DOCKER_CERT_PATH") or "~/.docker").expanduser()
    return Tls(folder / "ca.pem", folder / "cert.pem", folder / "key.pem")
