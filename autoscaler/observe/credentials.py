"""Credentials for a Prometheus: a password or token from a file or from the URL."""

from pathlib import Path
from urllib.parse import unquote, urlsplit, urlunsplit

from requests import PreparedRequest
from requests.auth import AuthBase, HTTPBasicAuth

from autoscaler.config.settings import PrometheusSource
from autoscaler.errors import MetricError
from autoscaler.target.files import read_secret
from autoscaler.target.http.errors import words


class Credentials(AuthBase):
    """Reads secrets from their files at each use, so that a rotated secret takes effect."""

    def __init__(self, source: PrometheusSource) -> None:
        self._source = source
        self._login = _login(source.url)

    def __call__(self, request: PreparedRequest) -> PreparedRequest:
        """Add the authentication header. Raises MetricError that names a file without a secret."""
        if basic := self._source.basic_auth:
            password = _secret(basic.password_file, "basicAuth.passwordFile")
            HTTPBasicAuth(basic.username.encode(), password.encode())(request)
        elif self._source.bearer_token_file:
            token = _secret(self._source.bearer_token_file, "bearerTokenFile")
            request.headers["Authorization"] = f"Bearer {token}"
        elif self._login:
            HTTPBasicAuth(*(unquote(part).encode() for part in self._login))(request)
        return request


def without_login(url: str) -> str:
    """Return the URL without credentials and without a trailing slash."""
    parts = urlsplit(url)
    return urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2])).rstrip("/")


def _login(url: str) -> tuple[str, str] | None:
    parts = urlsplit(url)
    return (parts.username or "", parts.password or "") if parts.username or parts.password else None


def _secret(file: Path, key: str) -> str:
    try:
        secret = read_secret(file)
    except (OSError, UnicodeDecodeError) as error:
        raise MetricError(f"cannot be asked: {key} {file}: {words(error)}") from None
    if not secret or not secret.isprintable():
        raise MetricError(f"cannot be asked: {key} {file} does not hold one line with the secret")
    return secret
