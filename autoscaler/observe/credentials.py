"""Credentials for a source: secrets from files or from the URL, tokens and signatures."""

import threading
from collections.abc import Callable, Mapping
from typing import Final, TypeAlias
from urllib.parse import unquote, urlsplit, urlunsplit
from weakref import WeakValueDictionary

from requests import PreparedRequest
from requests.auth import HTTPBasicAuth

from autoscaler.clock import Clock
from autoscaler.config.authentication import HeaderFile
from autoscaler.config.server import check_header_value
from autoscaler.config.settings import PrometheusSource
from autoscaler.errors import MetricError
from autoscaler.observe.oauth2 import Bearer, request_token
from autoscaler.observe.renewal import Renewed
from autoscaler.observe.secret_files import secret_of

Authorize: TypeAlias = Callable[[PreparedRequest], PreparedRequest]
"""Adds authentication to a complete request, which requests calls `auth`. Raises MetricError."""


class Credentials:
    """Authorizes the requests to one source. Usable from any thread.

    Secrets are read from their files at each use, so that a rotated secret takes effect.
    """

    def __init__(self, source: PrometheusSource, clock: Clock) -> None:
        self._source = source
        self._login = _login(source.url)
        self._renewed = _renewed(source, clock)
        self._files = {name: each.value_file for name, each in source.headers.items() if isinstance(each, HeaderFile)}

    def authorize(self, seconds: float) -> Authorize:
        """Return what authorizes one request. It waits at most `seconds` for a token or keys. Raises MetricError."""
        add = self._read if self._renewed is None else self._renewed.get(seconds)

        def authorized(request: PreparedRequest) -> PreparedRequest:
            for name, file in self._files.items():
                request.headers[name] = _header(secret_of(file, key := f"headers.{name}.valueFile"), f"{key} {file}")
            return add(request)

        return authorized

    def refused(self) -> None:
        """Note that the server refused a request, so that a token or keys are renewed before their end."""
        if self._renewed is not None:
            self._renewed.refused()

    @property
    def remedy(self) -> str:
        """What to check when the server refuses a request."""
        if self._source.sigv4 is not None:
            return "check the region and the keys of sigv4, and their permission aps:QueryMetrics"
        if self._source.oauth2 is not None:
            return "check the scopes and endpointParams of oauth2, and what the server grants the client"
        return "check its credentials"

    def _read(self, request: PreparedRequest) -> PreparedRequest:
        if basic := self._source.basic_auth:
            password = secret_of(basic.password_file, "basicAuth.passwordFile")
            HTTPBasicAuth(basic.username.encode(), password.encode())(request)
        elif self._source.bearer_token_file:
            Bearer(secret_of(self._source.bearer_token_file, "bearerTokenFile"))(request)
        elif self._login:
            HTTPBasicAuth(*(unquote(part).encode() for part in self._login))(request)
        return request


_SHARED: Final[WeakValueDictionary[str, Credentials]] = WeakValueDictionary()
_SHARING: Final = threading.Lock()


def shared_credentials(source: PrometheusSource, clock: Clock) -> Credentials:
    """Return the credentials of a source. All shards share them, so a token outlasts a reload that keeps them."""
    of_source = (source.url, source.basic_auth, source.bearer_token_file, source.sigv4, source.oauth2, source.headers)
    key = repr((id(clock), of_source))
    with _SHARING:
        return _SHARED.setdefault(key, Credentials(source, clock))


def plain_headers(headers: Mapping[str, str | HeaderFile]) -> Mapping[str, str]:
    """Return the headers whose values are in the configuration."""
    return {name: value for name, value in headers.items() if isinstance(value, str)}


def without_login(url: str) -> str:
    """Return the URL without credentials and without a trailing slash."""
    parts = urlsplit(url)
    return urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2])).rstrip("/")


def _renewed(source: PrometheusSource, clock: Clock) -> Renewed[Authorize] | None:
    if (oauth2 := source.oauth2) is not None:
        return Renewed(lambda: request_token(oauth2), f"oauth2.tokenUrl {oauth2.token_url}", clock)
    if source.sigv4 is not None:
        from autoscaler.observe.sigv4 import Keys  # noqa: PLC0415 - botocore is slow to import, and rarely needed

        return Renewed(Keys(source.sigv4), "AWS, for the keys of sigv4,", clock)
    return None


def _login(url: str) -> tuple[str, str] | None:
    parts = urlsplit(url)
    return (parts.username or "", parts.password or "") if parts.username or parts.password else None


def _header(value: str, place: str) -> str:
    try:
        return check_header_value(value)
    except ValueError as error:
        raise MetricError(f"cannot be asked: {place}: {error}") from None
