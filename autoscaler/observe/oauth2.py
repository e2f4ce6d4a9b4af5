"""Tokens of the OAuth 2.0 client credentials grant. Source: RFC 6749, 2.3.1, 4.4, 5.1 and 5.2."""

import math
import re
from typing import Final
from urllib.parse import quote_plus

import msgspec
from requests import PreparedRequest
from requests.auth import HTTPBasicAuth

from autoscaler.config.authentication import OAuth2
from autoscaler.errors import MetricError
from autoscaler.net.answer import decoded
from autoscaler.net.errors import HttpError
from autoscaler.net.session import Session
from autoscaler.observe.failure import not_now
from autoscaler.observe.secret_files import secret_of

_SECONDS: Final = 30.0
"""Time limit of a request for a token. Queries wait for less, and use a later token in the next cycle."""
_MAX_ANSWER_BYTES: Final = 2**18
"""Bytes. Tokens with many claims have some KiB."""
_OK: Final = 200
_ERRORS: Final = {
    "invalid_client": "check clientId and clientSecretFile",
    "unauthorized_client": "allow the client the grant client_credentials",
    "unsupported_grant_type": "allow the client the grant client_credentials",
    "invalid_scope": "check scopes",
    "invalid_request": "check endpointParams",
    "invalid_grant": "check endpointParams",
}
"""The errors that RFC 6749 defines, with remedies. No other text of an answer is shown: it may repeat the request."""


class Bearer:
    """Adds a token to requests."""

    def __init__(self, token: str) -> None:
        self._token = token

    def __call__(self, request: PreparedRequest) -> PreparedRequest:
        """Add the header."""
        request.headers["Authorization"] = f"Bearer {self._token}"
        return request


class _Token(msgspec.Struct):
    access_token: str
    token_type: str = "bearer"  # noqa: S105 - a kind of token
    expires_in: float | str | None = None
    """Seconds. Some servers write them as a text."""


class _Error(msgspec.Struct):
    error: str


def request_token(settings: OAuth2) -> tuple[Bearer, float]:
    """Return a new token, and the seconds until it ends: math.inf if the server does not say. Raises MetricError."""
    secret = secret_of(settings.client_secret_file, "oauth2.clientSecretFile")
    form = {**settings.endpoint_params, "grant_type": "client_credentials"}
    if settings.scopes:
        form["scope"] = " ".join(settings.scopes)
    login = HTTPBasicAuth(quote_plus(settings.client_id), quote_plus(secret))
    server = f"cannot be asked: oauth2.tokenUrl {settings.token_url}"
    try:
        secrets = settings.endpoint_params.values()
        with Session(settings.tls, largest=_MAX_ANSWER_BYTES, environment=True, secrets=secrets) as session:
            answer = session.request(
                "POST",
                settings.token_url,
                data=form,
                auth=login,
                headers={"Accept": "application/json"},
                timeout=_SECONDS,
            )
        if answer.status_code != _OK:
            raise MetricError(f"{server} {_refusal(answer.status_code, answer.content)}")
        return _token(decoded(answer.content, _Token, _MAX_ANSWER_BYTES), server)
    except HttpError as error:
        raise MetricError(f"{server}: {error}") from None


def _refusal(status: int, body: bytes) -> str:
    try:
        code = decoded(body, _Error, _MAX_ANSWER_BYTES).error
    except HttpError:
        code = ""
    name = f" ({code})" if code in _ERRORS else ""
    remedy = _ERRORS.get(code) or not_now(status) or "check tokenUrl, clientId and clientSecretFile"
    return f"answered HTTP {status}{name}; {remedy}"


def _token(token: _Token, server: str) -> tuple[Bearer, float]:
    if token.token_type.lower() != "bearer" or not re.fullmatch("[!-~]+", token.access_token):
        raise MetricError(f"{server} answered with no bearer token; check tokenUrl")
    try:
        lasts = math.inf if token.expires_in is None else float(token.expires_in)
    except ValueError:
        lasts = math.nan
    if not lasts >= 1:  # of a shorter life, each query would request a token
        raise MetricError(f"{server} answered with a token that has ended (expires_in); check that server")
    return Bearer(token.access_token), lasts
