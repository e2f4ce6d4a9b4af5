"""Checks every request over TCP before it is answered.

- DNS rebinding: without TLS and users, the Host header must be an address, this machine, or one of
  `web.allowedHosts`.
- Cross-site requests: a change must not come from another origin, and has a JSON body.
- Credentials: as the web configuration requires. Only clients in `web.operators` make changes, and those in a grant's
  `operators` to its autoscalers, one at a time. An address is no proof: a proxy on this machine gives its own address
  to every client.
- Request smuggling: a request with an ambiguous end is refused, and its connection closed.

Sources: OWASP's Cross-Site Request Forgery Prevention Cheat Sheet; the Fetch Metadata and Fetch standards.
"""

import ipaddress
import re
import socket
from collections.abc import Callable, Collection, Mapping
from typing import Final

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from autoscaler.config.settings import WebSettings
from autoscaler.web.api.answers import ErrorType, RequestError, failure
from autoscaler.web.api.endpoints import PREFIX
from autoscaler.web.credentials import Credentials
from autoscaler.web.webconfig import WebConfig

_READS: Final = ("GET", "HEAD", "OPTIONS")
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
_INSTEAD: Final = "on the daemon's machine, `autoscaler pause`, `resume` and `override` use its control socket"
_OF_ONE: Final = re.compile(f"{PREFIX}/autoscalers/(.+)/(?:pause|resume|override)|/autoscalers/(.+)")
"""Paths that concern one autoscaler: those of the API's changes, and its page."""
_CHALLENGE: Final = {"WWW-Authenticate": 'Basic realm="autoscaler", charset="UTF-8"'}


class Guard:
    """ASGI middleware that sets `scope["user"]`: the logged-in user, else the client certificate's name, or None.

    `scope["change_refused"]` says why this client must not make changes, for the page; empty: it may.
    """

    def __init__(
        self,
        app: ASGIApp,
        config: WebConfig,
        web: WebSettings,
        host: str,
        operators_of: Callable[[str], Collection[str]] = lambda _: (),
    ) -> None:
        """`host`: the server's listen address.

        `operators_of` returns the users whom a grant lets change one autoscaler.
        """
        self._app = app
        self._operators_of = operators_of
        self._names = {"localhost", host.lower(), socket.gethostname().lower()} - {""}
        self._config = WebConfig()
        self._credentials: Credentials | None = None
        self.follow(config, web)

    def follow(self, config: WebConfig, web: WebSettings) -> None:
        """Follow new configurations from the next request on. Users stay logged in unless the users change."""
        if config.users != self._config.users:
            self._credentials = Credentials(config.users) if config.users else None
        self._config, self._web = config, web
        self._headers = _SECURITY_HEADERS | dict(config.headers)

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
            _refuse_ambiguous(headers)
            self._refuse_rebinding(headers)
            changes = scope["method"] not in _READS
            if changes:
                _refuse_other_sites(headers, scope["scheme"])
            scope["user"] = user = await self._user(scope, headers)
            scope["change_refused"] = self._change_refused(user, scope["path"])
            if changes:
                _refuse_change(scope["change_refused"])
        except RequestError as refusal:
            await failure(refusal.kind, str(refusal), refusal.headers)(scope, receive, send_guarded)
            return
        await self._app(scope, receive, send_guarded)

    def _refuse_rebinding(self, headers: Mapping[str, str]) -> None:
        if self._config.tls is not None or self._config.users:
            return  # the certificate, or credentials stored for another name, already prove the host
        given = headers.get("host")
        if given is None or self._is_ours(_host_of(given)):
            return
        raise RequestError(
            ErrorType.FORBIDDEN,
            f"the Host header names {given[:100]!r}, which is not a known name of this machine; use its address, or "
            "add the name to web.allowedHosts",
        )

    def _is_ours(self, host: str) -> bool:
        if host in self._names or host in self._web.allowed_hosts or host.endswith(".localhost"):
            return True
        try:
            ipaddress.ip_address(host)
        except ValueError:
            return False
        return True  # a rebound page has a name

    async def _user(self, scope: Scope, headers: Mapping[str, str]) -> str | None:
        credentials, config = self._credentials, self._config
        if credentials is None:
            name: str | None = scope["state"].get("certificate")
            return name
        given = headers.get("authorization", "")
        user = credentials.remembered(given)
        if user is not None or (scope["method"] in _READS and scope["path"] in config.excluded_paths):
            return user
        user = await credentials.user(given)
        if user is None:
            raise RequestError(ErrorType.UNAUTHORIZED, "name or password is missing or wrong; log in", _CHALLENGE)
        return user

    def _change_refused(self, user: str | None, path: str) -> str:
        """Return why this client must not change what the path names; empty: it may."""
        if user is not None and user in self._web.operators:
            return ""
        one = _OF_ONE.fullmatch(path)
        if user is not None and one is not None and user in self._operators_of(one[1] or one[2]):
            return ""
        if user is not None:
            return f"the user {user[:64]!r} may only read: web.operators does not name it; {_INSTEAD}"
        return f"only users that web.operators names make changes over TCP; {_INSTEAD}"


def _refuse_ambiguous(headers: Mapping[str, str]) -> None:
    """Refuse a request whose end two servers could see differently: request smuggling (RFC 9112, 6.1)."""
    if "content-length" in headers and "transfer-encoding" in headers:
        message = "both Content-Length and Transfer-Encoding are given; send one of them"
        raise RequestError(ErrorType.BAD_DATA, message, {"Connection": "close"})


def _refuse_change(why: str) -> None:
    if why:
        raise RequestError(ErrorType.FORBIDDEN, why)


def _refuse_other_sites(headers: Mapping[str, str], scheme: str) -> None:
    site, origin = headers.get("sec-fetch-site", "none"), headers.get("origin")
    if site not in ("none", "same-origin"):
        raise RequestError(
            ErrorType.FORBIDDEN, f"a page of another site sent the request (Sec-Fetch-Site: {site[:40]})"
        )
    ours = f"{scheme}://{headers.get('host', '')}".lower()
    # Behind a proxy that terminates TLS, the origin is https. No page can forge "same-origin".
    if origin is not None and origin.lower() != ours and site != "same-origin":
        raise RequestError(ErrorType.FORBIDDEN, f"a page of another origin sent the request (Origin: {origin[:100]})")


def _host_of(header: str) -> str:
    """Return the host without port and brackets, in lower case."""
    host = header.strip().lower()
    if host.startswith("["):
        return host[1:].partition("]")[0]
    return host.partition(":")[0].removesuffix(".")
