"""Checks every request before it is answered. The control socket identifies its peers; over TCP there are more checks:

- DNS rebinding: without TLS and users, the Host header must be an address, this machine, or one of
  `web.allowedHosts`.
- Cross-site requests: a change must not come from another origin, and has a JSON body.
- Credentials: as the web configuration requires. Only clients in `web.operators` make changes, and those in a grant's
  `operators` to its autoscalers, one at a time. An address is no proof: a proxy on this machine gives its own address
  to every client.
- Request smuggling: a request with an ambiguous end is refused, and its connection closed. So it is on the control
  socket.

No check reads the body, so a client without rights learns nothing from what it sends.

Sources: OWASP's Cross-Site Request Forgery Prevention Cheat Sheet; the Fetch Metadata and Fetch standards.
"""

import ipaddress
import re
import socket
from collections.abc import Callable, Collection, Mapping
from typing import Final, NoReturn

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from autoscaler.config.settings import WebSettings
from autoscaler.web.api.answers import ErrorType, RequestError, failure
from autoscaler.web.api.endpoints import PREFIX
from autoscaler.web.control import ControlSocket
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
_OF_ONE: Final = re.compile(f"{PREFIX}/autoscalers/(.+)/(?:pause|resume|override)|/autoscalers/(.+)")
"""Paths that concern one autoscaler: those of the API's changes, and its page."""
_CHALLENGE: Final = {"WWW-Authenticate": 'Basic realm="autoscaler", charset="UTF-8"'}


class Guard:
    """ASGI middleware that sets `scope["user"]`: the user who logged in, or at a socket; a certificate's name; or None.

    `scope["may_change"]` says whether this client may change what the path names, for the page.
    """

    def __init__(
        self,
        app: ASGIApp,
        config: WebConfig,
        web: WebSettings,
        host: str,
        operators_of: Callable[[str], Collection[str]],
        control: ControlSocket | None,
    ) -> None:
        """`host`: the server's listen address. `control`: the socket of those requests that have a peer.

        `operators_of` returns the users whom a grant lets change one autoscaler.
        """
        self._app = app
        self._operators_of, self._control = operators_of, control
        self._names = {"localhost", host.lower(), socket.gethostname().lower()} - {""}
        self._config = WebConfig()
        self._credentials: Credentials | None = None
        self.follow(config, web)

    def follow(self, config: WebConfig, web: WebSettings) -> None:
        """Follow new configurations from the next request on. Users stay logged in unless the users change."""
        if config.users != self._config.users:
            users = {name: hashed.encode("ascii") for name, hashed in config.users.items()}
            self._credentials = Credentials(users) if users else None
        self._config, self._web = config, web
        self._headers = _SECURITY_HEADERS | {str(name): text for name, text in config.http.headers.items()}

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
        # two servers could see different ends: request smuggling (RFC 9112, 6.1)
        ambiguous = "content-length" in headers and "transfer-encoding" in headers
        try:
            await self._authorize(scope, headers)
            if ambiguous:
                _refuse(ErrorType.BAD_DATA, "both Content-Length and Transfer-Encoding are given; send one of them")
        except RequestError as refusal:
            closing = {"Connection": "close"} if ambiguous else {}
            answer = failure(refusal.kind, str(refusal), closing | dict(refusal.headers or {}))
            await answer(scope, receive, send_guarded)
            return
        await self._app(scope, receive, send_guarded)

    async def _authorize(self, scope: Scope, headers: Headers) -> None:
        """Set the scope's `user` and `may_change`. Raises RequestError for a client without the right."""
        if self._control is not None and (peer := scope["state"].get("peer")) is not None:
            scope["user"], scope["may_change"] = await self._control.operator(peer), True
            return
        self._refuse_rebinding(headers)
        changes = scope["method"] not in _READS
        if changes:
            _refuse_other_sites(headers, scope["scheme"])
        scope["user"] = user = await self._user(scope, headers)
        scope["may_change"] = self._may_change(user, scope["path"])
        if changes and not scope["may_change"]:
            who = "this client" if user is None else f"the user {user[:64]!r}"
            _refuse(
                ErrorType.FORBIDDEN,
                f"{who} may only read here, because web.operators does not name it; use the daemon's control socket",
            )

    def _refuse_rebinding(self, headers: Mapping[str, str]) -> None:
        if self._config.tls is not None or self._config.users:
            return  # the certificate, or credentials stored for another name, already prove the host
        given = headers.get("host")
        if given is None or self._is_ours(_host_of(given)):
            return
        _refuse(
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
        if (credentials := self._credentials) is None:
            name: str | None = scope["state"].get("certificate")
            return name
        if scope["method"] in _READS and scope["path"] in self._config.excluded_paths:
            return None
        user = await credentials.user(headers.get("authorization", ""))
        if user is None:
            _refuse(ErrorType.UNAUTHORIZED, "name or password is missing or wrong; log in", _CHALLENGE)
        return user

    def _may_change(self, user: str | None, path: str) -> bool:
        if user is None or user in self._web.operators:
            return user is not None
        one = _OF_ONE.fullmatch(path)
        return one is not None and user in self._operators_of(one[1] or one[2])


def _refuse(kind: ErrorType, message: str, headers: Mapping[str, str] | None = None) -> NoReturn:
    raise RequestError(kind, message, headers)


def _refuse_other_sites(headers: Mapping[str, str], scheme: str) -> None:
    site, origin = headers.get("sec-fetch-site", "none"), headers.get("origin")
    if site not in ("none", "same-origin"):
        _refuse(ErrorType.FORBIDDEN, f"a page of another site sent the request (Sec-Fetch-Site: {site[:40]})")
    ours = f"{scheme}://{headers.get('host', '')}".lower()
    # Behind a proxy that terminates TLS, the origin is https. No page can forge "same-origin".
    if origin is not None and origin.lower() != ours and site != "same-origin":
        _refuse(ErrorType.FORBIDDEN, f"a page of another origin sent the request (Origin: {origin[:100]})")


def _host_of(header: str) -> str:
    """Return the host without port and brackets, in lower case."""
    host = header.strip().lower()
    if host.startswith("["):
        return host[1:].partition("]")[0]
    return host.partition(":")[0].removesuffix(".")
