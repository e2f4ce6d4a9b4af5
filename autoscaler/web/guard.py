"""Who may ask for what: checks every request before it is answered.

- DNS rebinding: where nothing else tells a stranger's page from an operator (no TLS, no users), the Host header must
  name an address or this machine.
- Cross-site requests: what changes state must not come from another origin, nor in a form's encoding.
- Credentials: as the web configuration says; what changes state needs them unless there is no web configuration and
  the request comes over loopback, from no proxy.
- Floods: as many requests as `rate_limit` allows; wrong passwords as `logins` says.

Sources: OWASP's Cross-Site Request Forgery Prevention Cheat Sheet; the Fetch Metadata and Fetch standards.
"""

import ipaddress
import socket
from collections.abc import Mapping
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from autoscaler.clock import Clock
from autoscaler.logger import Logger
from autoscaler.web.addresses import client_of, is_loopback
from autoscaler.web.api.answers import ErrorType, failure
from autoscaler.web.bucket import TokenBucket
from autoscaler.web.credentials import Credentials
from autoscaler.web.logins import LoginRefused, Logins
from autoscaler.web.proxies import is_of_proxy
from autoscaler.web.webconfig import WebConfig
from autoscaler.web.work import RETRY

_READS: Final = ("GET", "HEAD", "OPTIONS")
_FORMS: Final = ("application/x-www-form-urlencoded", "multipart/form-data", "text/plain")
"""What a page of another site can send without being asked whether it may."""
_SECURITY_HEADERS: Final = {
    "Content-Security-Policy": (
        "default-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; object-src 'none'"
    ),
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}
_NO_CONFIG: Final = WebConfig(Path())
_CHALLENGE: Final = {"WWW-Authenticate": 'Basic realm="autoscaler", charset="UTF-8"'}


class Refusal(Exception):
    """The request is answered with an error before anything is looked at."""

    def __init__(self, kind: ErrorType, message: str, headers: Mapping[str, str] | None = None) -> None:
        self.kind, self.message, self.headers = kind, message, headers
        super().__init__(message)


class Guard:
    """ASGI middleware. The user who was found right is `scope["user"]`, None without users.

    Why this client may change nothing is `scope["change_refused"]`, for the page; empty: it may.
    """

    def __init__(self, app: ASGIApp, config: WebConfig | None, clock: Clock, host: str, logger: Logger) -> None:
        """`config`: None without --web.config.file. `host`: what the server listens on."""
        self._app = app
        self._clock = clock
        self._names = {"localhost", host.lower(), socket.gethostname().lower()} - {""}
        self.logins = Logins(clock, logger)
        self._config: WebConfig | None = None
        self._credentials: Credentials | None = None
        self._rate: TokenBucket | None = None
        self.follow(config)

    def follow(self, config: WebConfig | None) -> None:
        """Go by another web configuration from the next request on. Who is logged in stays so while no user changes."""
        before, now = self._config or _NO_CONFIG, config or _NO_CONFIG
        if now.users != before.users:
            self._credentials = Credentials(now.users, self._clock) if now.users else None
        if now.rate_limit != before.rate_limit:
            self._rate = TokenBucket(*now.rate_limit) if now.rate_limit else None
        self._config = config
        self._headers = _SECURITY_HEADERS | dict(now.headers)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, or answer it with an error."""
        if scope["type"] != "http":
            return

        async def send_guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(raw=message["headers"])
                for name, value in self._headers.items():
                    headers[name] = value
                headers.setdefault("Cache-Control", "no-store")
                if "location" in headers:
                    headers["location"] = _path_of(headers["location"])
            await send(message)

        headers = Headers(scope=scope)
        try:
            self._refuse_too_many()
            self._refuse_rebinding(headers)
            changes = scope["method"] not in _READS
            if changes:
                _refuse_other_sites(headers, scope["scheme"])
            scope["user"] = await self._user(scope, headers)
            scope["change_refused"] = self._change_refused(scope, headers)
            if changes:
                _refuse_change(scope["change_refused"])
        except Refusal as refusal:
            await failure(refusal.kind, refusal.message, refusal.headers)(scope, receive, send_guarded)
            return
        await self._app(scope, receive, send_guarded)

    def _refuse_too_many(self) -> None:
        if self._rate is not None and not self._rate.take(self._clock.monotonic()):
            raise Refusal(
                ErrorType.TOO_MANY_REQUESTS, "more requests than rate_limit of --web.config.file allows; wait", RETRY
            )

    def _refuse_rebinding(self, headers: Mapping[str, str]) -> None:
        config = self._config
        if config is not None and (config.tls is not None or config.users):
            return  # the certificate, or credentials that a browser keeps for another name, say that it is us
        given = headers.get("host")
        if given is None or self._is_ours(_host_of(given)):
            return
        raise Refusal(
            ErrorType.FORBIDDEN,
            f"the Host header names {given[:100]!r}, which is not this machine; use its address or its host name, or "
            "set TLS or users in --web.config.file",
        )

    def _is_ours(self, host: str) -> bool:
        if host in self._names or host.endswith(".localhost"):
            return True
        try:
            ipaddress.ip_address(host)
        except ValueError:
            return False
        return True  # a page that was rebound has a name

    async def _user(self, scope: Scope, headers: Mapping[str, str]) -> str | None:
        credentials, config = self._credentials, self._config
        if credentials is None or config is None:
            return None
        given = headers.get("authorization", "")
        user = credentials.remembered(given)
        if user is not None or (scope["method"] in _READS and scope["path"] in config.excluded_paths):
            return user
        if not credentials.refused(given):
            try:
                user = await self.logins.user(credentials, given, client_of(scope["client"][0]))
            except LoginRefused as refused:
                kind = ErrorType.TOO_MANY_REQUESTS if refused.guessing else ErrorType.UNAVAILABLE
                raise Refusal(kind, f"{refused}; try again in a second", RETRY) from None
        if user is None:
            raise Refusal(ErrorType.UNAUTHORIZED, "name or password is missing or wrong; log in", _CHALLENGE)
        return user

    def _change_refused(self, scope: Scope, headers: Mapping[str, str]) -> str:
        """Why this client may change nothing; empty: it may."""
        config, user = self._config, scope["user"]
        if user is not None:
            if config is None or user not in config.read_only_users:
                return ""
            return f"the user {user[:64]!r} may only read, as web.readOnlyUsers says; log in as another user"
        if config is not None:
            if config.users or config.clients_are_known:
                return ""
            return (
                "changes need credentials, and the web configuration knows none; add basic_auth_users, or "
                "client_auth_type: RequireAndVerifyClientCert"
            )
        client = scope.get("client")
        foreign = next((name for name in headers if is_of_proxy(name)), None)
        if client is None or not is_loopback(client[0]) or foreign is not None:
            proxy = "" if foreign is None else f", and not through a proxy, which the header {foreign[:64]} tells of"
            return (
                f"changes are only accepted from this machine{proxy}, while there are no users; give "
                "--web.config.file with users or client certificates"
            )
        return ""


def _refuse_change(why: str) -> None:
    if why:
        raise Refusal(ErrorType.FORBIDDEN, why)


def _refuse_other_sites(headers: Mapping[str, str], scheme: str) -> None:
    site, origin = headers.get("sec-fetch-site", "none"), headers.get("origin")
    if site not in ("none", "same-origin"):
        raise Refusal(ErrorType.FORBIDDEN, f"a page of another site asked for it (Sec-Fetch-Site: {site[:40]})")
    ours = f"{scheme}://{headers.get('host', '')}".lower()
    # behind a proxy that ends TLS the origin is https; no page can make a browser say "same-origin" of it
    if origin is not None and origin.lower() != ours and site != "same-origin":
        raise Refusal(ErrorType.FORBIDDEN, f"a page of another origin asked for it (Origin: {origin[:100]})")
    kind = headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind in _FORMS:
        raise Refusal(ErrorType.UNSUPPORTED, f"the body is of the type {kind}; send application/json")


def _host_of(header: str) -> str:
    """The host without its port and brackets, in lower case."""
    host = header.strip().lower()
    if host.startswith("["):
        return host[1:].partition("]")[0]
    return host.partition(":")[0].removesuffix(".")


def _path_of(location: str) -> str:
    """Without scheme and host: those are the client's words (its Host header), and a cache may give them to others."""
    parts = urlsplit(location)
    return "/" + parts.path.lstrip("/\\") + (f"?{parts.query}" if parts.query else "")
