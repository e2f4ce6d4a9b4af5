"""`--web.config.file`: TLS and users, in the format of Prometheus' own servers.

Source: github.com/prometheus/exporter-toolkit, docs/web-configuration.md. Unsupported settings are refused with a
remedy, never ignored.
"""

import re
import ssl
from pathlib import Path
from typing import Annotated, Final, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    PrivateAttr,
    ValidationInfo,
    field_validator,
)

from autoscaler.config.file_of_model import read_model
from autoscaler.config.settings import Settings
from autoscaler.errors import ConfigError, Problem

_VERSIONS: Final = {"TLS12": ssl.TLSVersion.TLSv1_2, "TLS13": ssl.TLSVersion.TLSv1_3}
_CLIENT_AUTH: Final = {
    "NoClientCert": ssl.CERT_NONE,
    "VerifyClientCertIfGiven": ssl.CERT_OPTIONAL,
    "RequireAndVerifyClientCert": ssl.CERT_REQUIRED,
}


class _Section(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, defer_build=True)


class TlsServer(_Section):
    """The server's certificate, and its requirements of clients."""

    cert_file: str
    key_file: str
    client_auth_type: Literal["NoClientCert", "VerifyClientCertIfGiven", "RequireAndVerifyClientCert"] = "NoClientCert"
    client_ca_file: Annotated[str | None, Field(validate_default=True)] = None
    min_version: Literal["TLS12", "TLS13"] = "TLS12"
    max_version: Literal["TLS12", "TLS13"] = "TLS13"

    @field_validator("cert_file", "key_file", "client_ca_file")
    @classmethod
    def _beside_the_file(cls, value: str | None, info: ValidationInfo) -> str | None:
        context: dict[str, Path] = info.context or {}
        return None if value is None else str(context["folder"] / value)

    @field_validator("client_ca_file")
    @classmethod
    def _with_authority(cls, value: str | None, info: ValidationInfo) -> str | None:
        asked = info.data.get("client_auth_type", "NoClientCert") != "NoClientCert"
        if asked and value is None:
            raise ValueError("is missing; client_auth_type needs the authority to verify against")
        if value is not None and not asked and "client_auth_type" in info.data:
            raise ValueError(
                "has no effect without client_auth_type; write client_auth_type: RequireAndVerifyClientCert"
            )
        return value

    @field_validator("max_version")
    @classmethod
    def _not_below_min(cls, value: str, info: ValidationInfo) -> str:
        if value < info.data.get("min_version", "TLS12"):
            raise ValueError(f"{value} is below min_version; raise it")
        return value

    def load_into(self, context: ssl.SSLContext) -> None:
        """Load the certificate from its files. Raises OSError, also for a key with a password."""
        context.load_cert_chain(self.cert_file, self.key_file, password="")

    def context(self) -> ssl.SSLContext:
        """Return a new TLS context. Raises OSError, including ssl.SSLError."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.options |= ssl.OP_NO_RENEGOTIATION  # renegotiation lets a client cause key computations
        context.minimum_version, context.maximum_version = _VERSIONS[self.min_version], _VERSIONS[self.max_version]
        self.load_into(context)
        context.verify_mode = _CLIENT_AUTH[self.client_auth_type]
        if self.client_ca_file is not None:
            context.load_verify_locations(self.client_ca_file)
        context.set_alpn_protocols(["http/1.1"])
        return context


def _check_hash(text: str) -> str:
    """Check a bcrypt hash. The error does not show it."""
    if not re.fullmatch(r"\$2[aby]\$(0[4-9]|[12][0-9]|3[01])\$[./A-Za-z0-9]{53}", text):
        raise ValueError('this is not a valid bcrypt hash; make one with `htpasswd -nBC 10 ""`')
    return text


_Hash = Annotated[str, AfterValidator(_check_hash)]


class _Http(_Section):
    http2: Literal[False] = False
    """Only HTTP/1.1 is supported."""
    headers: dict[
        Literal[
            "Content-Security-Policy",
            "X-Frame-Options",
            "X-Content-Type-Options",
            "X-XSS-Protection",
            "Strict-Transport-Security",
        ],
        Annotated[str, Field(pattern=r"^[\x20-\x7e]*$")],
    ] = Field(default_factory=dict)
    """Headers of every response; they replace the server's own."""


class WebConfig(_Section):
    """The settings of the TCP server. The defaults are those without a file."""

    tls: TlsServer | None = Field(None, alias="tls_server_config")
    http: _Http = Field(_Http(), alias="http_server_config")
    users: dict[Annotated[str, Field(min_length=1, pattern="^[^:]*$")], _Hash] = Field({}, alias="basic_auth_users")
    """User name -> bcrypt hash."""
    excluded_paths: list[str] = Field([], alias="auth_excluded_paths")
    """Paths that need no credentials."""
    _path: Path = PrivateAttr(default=Path())

    @property
    def path(self) -> Path:
        """Return the file."""
        return self._path

    @property
    def verifies_clients(self) -> bool:
        """Return whether clients' certificates are verified."""
        return self.tls is not None and self.tls.client_auth_type != "NoClientCert"


def load_web_config(path: Path) -> WebConfig:
    """Return the file's settings. Raises ConfigError with every problem, including unreadable certificates."""
    config, _, problems = read_model(path, WebConfig, "tls_server_config or others")
    config._path = path  # noqa: SLF001 - this module's own
    try:
        if config.tls is not None:
            config.tls.context()
    except OSError as error:
        cause = error.strerror or type(error).__name__
        problems.add(
            ("tls_server_config",), f"the certificates cannot be loaded: {cause}; check the files and their permissions"
        )
        raise ConfigError(list(problems)) from None
    return config


def check_operators(config: WebConfig | None, settings: Settings) -> None:
    """Raise ConfigError for operators, of `web` or of a grant, that cannot log in."""
    if config is not None and config.verifies_clients and not config.users:
        return  # the name of a certificate, which may be issued later
    known = frozenset() if config is None else frozenset(config.users)
    where = "there is no --web.config.file" if config is None else f"{config.path} has no such user"
    problems = [
        Problem(
            str(settings.path),
            each.line,
            each.column,
            each.path,
            f"{each.name[:64]!r} cannot log in: {where}; add it to basic_auth_users there, or remove it here",
        )
        for each in settings.operators
        if each.name not in known
    ]
    if problems:
        raise ConfigError(problems)
