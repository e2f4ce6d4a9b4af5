"""Sources and token servers that check what a client sends, as Amazon's workspaces and identity providers do.

No such server runs without an account. The signature is computed here from the steps of AWS' page
(docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-create-signed-request.html), not by botocore; the tokens follow
RFC 6749 and RFC 6750.
"""

import base64
import hashlib
import hmac
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any
from urllib.parse import quote, unquote, unquote_plus, urlsplit

from tests.servers.web import Answer, Request

_SKEW = timedelta(minutes=5)
"""How far a signature's time may be from AWS' clock."""


def one_sample(request: Request) -> Answer:
    """The answer of a Prometheus to any instant query: 7 at the time that the query names."""
    result = [{"metric": {}, "value": [float(request.form["time"]), "7"]}]
    return Answer(200, {"status": "success", "data": {"resultType": "vector", "result": result}})


@dataclass(slots=True)
class Workspace:
    """A workspace of Amazon Managed Service for Prometheus: it answers requests that are signed right."""

    region: str = "eu-west-1"
    keys: dict[str, tuple[str, str | None]] = field(default_factory=lambda: {"AKID": ("secret", None)})
    """Access key -> its secret, and its session token."""
    ahead: timedelta = timedelta(0)
    """How far its clock is ahead."""
    tamper: Callable[[Request], None] = lambda _: None
    """Changes a request before it is checked, as something on the way would."""
    requests: list[Request] = field(default_factory=list)

    def answer(self, request: Request) -> Answer:
        """The samples, or a refusal like AWS'."""
        self.requests.append(request)
        self.tamper(request)
        now = datetime.now(UTC) + self.ahead
        refusal = self._refusal(request, now)
        came = one_sample(request) if refusal is None else Answer(403, {"message": refusal[1]})
        if refusal is not None:
            came.headers["x-amzn-ErrorType"] = refusal[0]
        came.headers["Date"] = format_datetime(now, usegmt=True)
        return came

    def _refusal(self, request: Request, now: datetime) -> tuple[str, str] | None:
        match = re.fullmatch(
            r"AWS4-HMAC-SHA256 Credential=([^/]+)/(\d{8})/([^/]+)/([^/]+)/aws4_request, "
            r"SignedHeaders=([a-z0-9;-]+), Signature=([0-9a-f]{64})",
            request.headers.get("Authorization", ""),
        )
        if match is None:
            return "MissingAuthenticationTokenException", "Missing Authentication Token"
        key, day, region, service, names, signature = match.groups()
        if key not in self.keys:
            return "UnrecognizedClientException", "The security token included in the request is invalid."
        secret, token = self.keys[key]
        if request.headers.get("X-Amz-Security-Token") != token:
            return "ExpiredTokenException", "The security token included in the request is expired"
        if (region, service) != (self.region, "aps"):
            return "InvalidSignatureException", f"Credential should be scoped to a valid region, not '{region}'."
        date = request.headers["X-Amz-Date"]
        signed_at = datetime.strptime(date, "%Y%m%dT%H%M%SZ").replace(tzinfo=UTC)
        if abs(signed_at - now) > _SKEW:
            return "InvalidSignatureException", f"Signature expired: {date} is now earlier than the server's time"
        must = {"host", "x-amz-date"} | ({"x-amz-security-token"} if token else set())
        if not must <= set(names.split(";")):
            return "InvalidSignatureException", "'Host' and x-amz headers must be signed."
        expected = _signature(request, names.split(";"), date, f"{day}/{region}/{service}/aws4_request", secret)
        if not hmac.compare_digest(expected, signature):
            return "InvalidSignatureException", "The request signature we calculated does not match."
        return None


def _signature(request: Request, names: list[str], date: str, scope: str, secret: str) -> str:
    parts = urlsplit(request.target)
    pairs = [each.partition("=")[::2] for each in parts.query.split("&") if each]
    query = "&".join(sorted(f"{_encoded(unquote(name))}={_encoded(unquote(value))}" for name, value in pairs))
    headers = "".join(f"{name}:{' '.join(request.headers[name].split())}\n" for name in names)
    body = hashlib.sha256(request.body.encode()).hexdigest()
    canonical = "\n".join([request.method, quote(parts.path, safe="/~"), query, headers, ";".join(names), body])
    text = "\n".join(["AWS4-HMAC-SHA256", date, scope, hashlib.sha256(canonical.encode()).hexdigest()])
    key = f"AWS4{secret}".encode()
    for part in scope.split("/"):
        key = hmac.digest(key, part.encode(), "sha256")
    return hmac.digest(key, text.encode(), "sha256").hex()


def _encoded(text: str) -> str:
    return quote(text, safe="-_.~")


@dataclass(slots=True)
class TokenServer:
    """An identity provider: it gives tokens for the client credentials grant."""

    client: tuple[str, str] = ("scaler", "s3cr:t/+ü")
    lasts: float | None = 3600
    """Seconds; None: it does not say."""
    given: list[str] = field(default_factory=list)
    requests: list[Request] = field(default_factory=list)
    before: Callable[[], object] = lambda: None
    """Called before each answer."""

    def answer(self, request: Request) -> Answer:
        """A token, or an error as RFC 6749, 5.2, has it."""
        self.requests.append(request)
        self.before()
        kind, _, login = request.headers.get("Authorization", "").partition(" ")
        name, _, secret = base64.b64decode(login).decode().partition(":")
        if request.method != "POST" or (kind, unquote_plus(name), unquote_plus(secret)) != ("Basic", *self.client):
            return Answer(401, {"error": "invalid_client", "error_description": f"not {secret}"})
        if request.form.get("grant_type") != "client_credentials":
            return Answer(400, {"error": "unsupported_grant_type"})
        self.given.append(f"token-{len(self.given)}")
        body: dict[str, Any] = {"access_token": self.given[-1], "token_type": "Bearer"}
        return Answer(200, body if self.lasts is None else body | {"expires_in": self.lasts})


@dataclass(slots=True)
class TokenSource:
    """A source behind the token server. It accepts the token that was given last, unless that has expired."""

    server: TokenServer
    expired: set[str] = field(default_factory=set)
    requests: list[Request] = field(default_factory=list)

    def answer(self, request: Request) -> Answer:
        """The samples, or 401 as RFC 6750, 3.1, has it."""
        self.requests.append(request)
        kind, _, token = request.headers.get("Authorization", "").partition(" ")
        if kind != "Bearer" or token not in self.server.given or token in self.expired:
            return Answer(401, {"message": f"not {token}"}, {"WWW-Authenticate": 'Bearer error="invalid_token"'})
        return one_sample(request)
