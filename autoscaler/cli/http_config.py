"""`--http.config.file`: credentials and TLS for requests to the daemon, in the format of promtool's file.

Source: prometheus.io/docs, "HTTP configuration for promtool". Keys that are not supported are refused.
"""

import ssl
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Self

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    ValidationInfo,
    model_validator,
)
from urllib3.util import make_headers

from autoscaler.config.file_of_model import read_model
from autoscaler.errors import ServerError
from autoscaler.net.files import read_secret


def load_http_config(path: Path) -> "HttpConfig":
    """Read the file at `path`. Raises ConfigError with every problem."""
    config, _, _ = read_model(path, HttpConfig, "basic_auth or tls_config")
    return config


def _beside_the_file(path: Path, info: ValidationInfo) -> Path:
    context: dict[str, Path] = info.context or {}
    return Path(context["folder"], path)


_File = Annotated[Path, AfterValidator(_beside_the_file)]


class _Section(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class _BasicAuth(_Section):
    username: str | None = None
    username_file: _File | None = None
    password: str | None = None
    password_file: _File | None = None

    @model_validator(mode="after")
    def _each_once(self) -> Self:
        if (self.username is None) == (self.username_file is None):
            raise ValueError("expected one of username and username_file; write one of them")
        if self.password is not None and self.password_file is not None:
            raise ValueError("password and password_file are both given; remove one of them")
        return self

    def header(self) -> str:
        name = _secret(self.username, self.username_file)
        password = _secret(self.password, self.password_file)
        return make_headers(basic_auth=f"{name}:{password}".encode().decode("latin-1"))["authorization"]


class _Authorization(_Section):
    type: Annotated[str, Field(pattern="^[!-~]+$")] = "Bearer"
    credentials: str | None = None
    credentials_file: _File | None = None

    @model_validator(mode="after")
    def _once(self) -> Self:
        if (self.credentials is None) == (self.credentials_file is None):
            raise ValueError("expected one of credentials and credentials_file; write one of them")
        if self.type.lower() == "basic":
            raise ValueError("type: Basic has a section of its own; write basic_auth")
        return self

    def header(self) -> str:
        return f"{self.type} {_secret(self.credentials, self.credentials_file)}".encode().decode("latin-1")


class _Tls(_Section):
    ca_file: _File | None = None
    cert_file: _File | None = None
    key_file: _File | None = None
    server_name: str | None = None
    insecure_skip_verify: bool = False

    @model_validator(mode="after")
    def _pair(self) -> Self:
        if (self.cert_file is None) != (self.key_file is None):
            raise ValueError("cert_file and key_file go together; give both or neither")
        return self


class HttpConfig(_Section):
    """The file. Every section is optional."""

    basic_auth: _BasicAuth | None = None
    authorization: _Authorization | None = None
    tls_config: _Tls | None = None

    @model_validator(mode="after")
    def _one_way_in(self) -> Self:
        if self.basic_auth is not None and self.authorization is not None:
            raise ValueError("authorization and basic_auth are both given; remove one of them")
        return self

    def headers(self) -> Mapping[str, str]:
        """Return the headers of each request. Raises ServerError if a secret's file cannot be read."""
        section = self.basic_auth or self.authorization
        return {} if section is None else {"Authorization": section.header()}

    def tls(self) -> tuple[ssl.SSLContext, str | None]:
        """Return the TLS context for the server, and the name in its certificate (None: the URL's host).

        Raises ServerError if a certificate cannot be loaded.
        """
        tls = self.tls_config or _Tls()
        try:
            context = ssl.create_default_context(cafile=tls.ca_file)
            if tls.cert_file is not None:
                context.load_cert_chain(tls.cert_file, tls.key_file)
        except OSError as error:
            cause = error.strerror or type(error).__name__
            raise ServerError(
                f"tls_config's files cannot be loaded: {cause}; check them and their permissions"
            ) from None
        if tls.insecure_skip_verify:
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        return context, tls.server_name


def _secret(given: str | None, file: Path | None) -> str:
    try:
        secret = read_secret(file) if file is not None else given or ""
    except (OSError, UnicodeDecodeError) as error:
        cause = getattr(error, "strerror", None) or "it is not text"
        raise ServerError(f"{file} cannot be read: {cause}; check the path and its permissions") from None
    if not secret.isprintable():
        raise ServerError(f"{file or 'a secret'} holds more than one line; leave only the secret in it")
    return secret
