"""The settings of a connection, completed from the environment."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Self
from urllib.parse import urlsplit

from pydantic import Field, field_validator, model_validator

from autoscaler.target import AdapterError, AdapterSettings, ExistingPath, TargetForbidden, TlsSettings, files
from autoscaler.target.http import Tls

DEFAULT_ADDRESS: Final = "http://127.0.0.1:4646"
DEFAULT_NAMESPACE: Final = "default"
_TRUE: Final = frozenset({"1", "t", "true"})
_FALSE: Final = frozenset({"", "0", "f", "false"})


class NomadTls(TlsSettings):
    """TLS for the agent. Omitted settings come from NOMAD_CACERT, NOMAD_CLIENT_CERT and so on."""

    server_name: str | None = None
    """The name in the agent's certificate, for example `server.global.nomad`. Default: the host in the address."""
    insecure_skip_verify: bool | None = None
    """true: accept any certificate."""


class NomadSettings(AdapterSettings):
    """A Nomad cluster. Omitted settings come from the NOMAD_* environment, then from Nomad's defaults."""

    address: str | None = Field(default=None, examples=["https://nomad.example:4646"])
    """URL of an agent's HTTP API. Default: NOMAD_ADDR, else http://127.0.0.1:4646."""
    addresses: tuple[str, ...] | None = Field(default=None, min_length=1)
    """URLs of several agents of one cluster, instead of `address`: the next one is used when one cannot serve."""
    region: str | None = Field(default=None, min_length=1)
    """Region of targets that name none. Default: NOMAD_REGION, else the agent's own."""
    namespace: str | None = Field(default=None, min_length=1)
    """Namespace of targets that name none. Default: NOMAD_NAMESPACE, else `default`."""
    token_file: ExistingPath | None = None
    """File with the ACL token's secret id, read at each use. Default: the token in NOMAD_TOKEN."""
    tls: NomadTls = NomadTls()
    """TLS for the agent."""
    record_dry_run: bool = False
    """true: Nomad records a dry run's proposal as a scaling event without a count."""

    @field_validator("address")
    @classmethod
    def _http(cls, address: str | None) -> str | None:
        return None if address is None else _url(address)

    @field_validator("addresses")
    @classmethod
    def _all_http(cls, addresses: tuple[str, ...] | None) -> tuple[str, ...] | None:
        return None if addresses is None else tuple(map(_url, addresses))

    @model_validator(mode="after")
    def _one_key(self) -> Self:
        if self.address is not None and self.addresses is not None:
            raise ValueError("address and addresses are both given; keep one of them")
        return self

    @field_validator("namespace")
    @classmethod
    def _one(cls, namespace: str | None) -> str | None:
        if namespace == "*":
            raise ValueError('"*" is not a single namespace; name one, and others at scaleTargetRef.namespace')
        return namespace


def _url(address: str) -> str:
    parts = urlsplit(address)
    if "@" in parts.netloc:
        raise ValueError("the address holds credentials, and would be logged with them; use tokenFile")
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.fragment:
        raise ValueError(f"{address!r} is not a valid agent URL; write it as {DEFAULT_ADDRESS}")
    if parts.port == 0:  # raises ValueError for an invalid port
        raise ValueError(f"{address!r} has no port that can be connected to; write it as {DEFAULT_ADDRESS}")
    return address.rstrip("/")


@dataclass(frozen=True, slots=True)
class AgentAccess:
    """How to reach the cluster: from the file, else the environment, else Nomad's defaults."""

    addresses: tuple[str, ...]
    """URLs of agents, at least one."""
    region: str | None
    namespace: str
    token_file: Path | None
    token: str | None
    tls: Tls

    def read_token(self) -> str | None:
        """Return the ACL token's secret id, or None without a token. Raises TargetForbidden when it cannot be read."""
        if self.token_file is None:
            source, token = "NOMAD_TOKEN", self.token or ""
        else:
            source, token = f"tokenFile {self.token_file}", _text(self.token_file)
        if not (token.isascii() and token.isprintable() and " " not in token):
            raise TargetForbidden(f"{source} holds no token; expected one secret id and nothing else")
        return token or None


def region_of(settings: NomadSettings, environment: Mapping[str, str]) -> str | None:
    """The region of targets that name none; None: the agent's own."""
    return settings.region or environment.get("NOMAD_REGION") or None


def namespace_of(settings: NomadSettings, environment: Mapping[str, str]) -> str:
    """The namespace of targets that name none."""
    return settings.namespace or environment.get("NOMAD_NAMESPACE") or DEFAULT_NAMESPACE


def addresses_of(settings: NomadSettings, environment: Mapping[str, str]) -> tuple[str, ...]:
    """The URLs of the agents, at least one. Raises ValueError for an invalid $NOMAD_ADDR."""
    return settings.addresses or (settings.address or _url(environment.get("NOMAD_ADDR") or DEFAULT_ADDRESS),)


def resolve(settings: NomadSettings, environment: Mapping[str, str]) -> AgentAccess:
    """Return how to reach the cluster. Raises AdapterError for an invalid setting or a missing secret file."""
    tls = settings.tls
    own_pair = tls.cert_file is not None

    def path(variable: str) -> Path | None:
        return Path(environment[variable]) if environment.get(variable) else None

    skip = tls.insecure_skip_verify
    try:
        access = AgentAccess(
            addresses=addresses_of(settings, environment),
            region=region_of(settings, environment),
            namespace=namespace_of(settings, environment),
            token_file=settings.token_file,
            token=environment.get("NOMAD_TOKEN") or None,
            tls=Tls(
                ca_file=tls.ca_file or path("NOMAD_CACERT"),
                cert_file=tls.cert_file if own_pair else path("NOMAD_CLIENT_CERT"),
                key_file=tls.key_file if own_pair else path("NOMAD_CLIENT_KEY"),
                server_name=tls.server_name or environment.get("NOMAD_TLS_SERVER_NAME") or None,
                insecure_skip_verify=_flag("NOMAD_SKIP_VERIFY", environment) if skip is None else skip,
            ),
        )
    except ValueError as error:
        raise AdapterError(f"NOMAD_* environment: {error}") from None
    if access.namespace == "*":
        raise AdapterError('NOMAD_NAMESPACE: "*" is not a single namespace; name one')
    if (access.tls.cert_file is None) != (access.tls.key_file is None):
        raise AdapterError("NOMAD_CLIENT_CERT and NOMAD_CLIENT_KEY go together; give both or neither")
    for file in (*filter(None, [access.token_file]), *access.tls.files):
        if not os.access(file, os.R_OK):
            raise AdapterError(f"{file} cannot be read; put it there, or correct the path")
    return access


def _text(file: Path) -> str:
    """Return the file's text. Raises TargetForbidden when it cannot be read."""
    try:
        return files.read_secret(file)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not text"
        raise TargetForbidden(f"{file} cannot be read: {reason}; put it there, or correct the path") from None


def _flag(variable: str, environment: Mapping[str, str]) -> bool:
    text = environment.get(variable, "").lower()
    if text not in _TRUE | _FALSE:
        raise ValueError(f"{variable} is {text!r}; expected true or false")
    return text in _TRUE
