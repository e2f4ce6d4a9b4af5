"""Who may ask for what: checks every request before it is answered.

- DNS rebinding: where nothing else tells a stranger's page from an operator (no TLS, no users), the Host header must
  name an address or this machine.
- Cross-site requests: what changes state must not come from another origin, nor in a form's encoding.
- Credentials: as the web configuration says; what changes state needs them unless there is no web configuration and
  the request comes over loopback, from no proxy.

Sources: OWASP's Cross-Site Request Forgery Prevention Cheat Sheet; the Fetch Metadata and Fetch standards.
"""

import ipaddress
import socket
from collections.abc import Mapping
from typing import Final

import anyio
from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from autoscaler.clock import Clock
from autoscaler.web.api.answers import ErrorType, failure
from autoscaler.web.credentials import Credentials
from autoscaler.web.webconfig import WebConfig

_READS: Final = ("GET", "HEAD", "OPTIONS")
_FORMS: Final = ("application/x-www-form-urlencoded", "multipart/form-data", "text/plain")
"""What a page of another site can send without being asked whether it may."""
_PROXIED: Final = ("forwarded", "x-forwarded-for", "x-forwarded-host", "x-real-ip", "via")
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
_CHALLENGE: Final = {"WWW-Authenticate": 'Basic realm="autoscaler", charset="UTF-8"'}


class Refusal(Exception):
    """The request is answered with an error before anything is looked at."""

    def __init__(self, kind: ErrorType, message: str, headers: dict[str, str] | None = None) -> None:
        self.kind, self.message, self.headers = kind, message, headers
        super().__init__(message)


class Guard:
    """ASGI middleware. The user who was found right is `scope["user"]`, None without users."""

    def __init__(self, app: ASGIApp, config: WebConfig | None, clock: Clock, host: str) -> None:
        """`config`: None without --web.config.file. `host`: what the server listens on."""
        self._app = app
        self._clock = clock
        self._names = {"localhost", host.lower(), socket.gethostname().lower()} - {""}
        self._hashing = anyio.CapacityLimiter(1)
        """One password at a time: guessing must not take every core."""
        self.follow(config)

    def follow(self, config: WebConfig | None) -> None:
        """Go by another web configuration from the next request on."""
        self._config = config
        self._credentials = None if config is None or not config.users else Credentials(config.users, self._clock)
        self._headers = dict(_SECURITY_HEADERS)
        if config is not None:
            self._headers |= config.headers

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
            await send(message)

        headers = Headers(scope=scope)
        try:
            self._refuse_rebinding(headers)
            changes = scope["method"] not in _READS
            if changes:
                _refuse_other_sites(headers, scope["scheme"])
            scope["user"] = await self._user(scope, headers)
            if changes and scope["user"] is None:
                self._refuse_strangers(scope, headers)
        except Refusal as refusal:
            await failure(refusal.kind, refusal.message, refusal.headers)(scope, receive, send_guarded)
            return
        await self._app(scope, receive, send_guarded)

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
        given = headers.get("authorization")
        user = credentials.remembered(given)
        if user is None and given is not None:
            user = await anyio.to_thread.run_sync(credentials.check, given, limiter=self._hashing)
        if user is None and not (scope["method"] in _READS and scope["path"] in config.excluded_paths):
            raise Refusal(ErrorType.UNAUTHORIZED, "name or password is missing or wrong; log in", _CHALLENGE)
        return user

    def _refuse_strangers(self, scope: Scope, headers: Mapping[str, str]) -> None:
        config = self._config
        if config is not None:
            if config.clients_are_known:
                return
            raise Refusal(
                ErrorType.FORBIDDEN,
                "changes need credentials, and the web configuration knows none; add basic_auth_users, or "
                "client_auth_type: RequireAndVerifyClientCert",
            )
        client = scope.get("client")
        if client is None or not _is_loopback(client[0]) or any(name in headers for name in _PROXIED):
            raise Refusal(
                ErrorType.FORBIDDEN,
                "changes are only accepted from this machine while there are no users; give "
                "--web.config.file with users or client certificates",
            )


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


def _is_loopback(address: str) -> bool:
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return False
    mapped = getattr(parsed, "ipv4_mapped", None)
    return (mapped or parsed).is_loopback
