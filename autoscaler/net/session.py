"""A requests session for one peer, under one deadline."""

import io
import sys
import time
from collections.abc import Callable, Iterable, Mapping
from http.cookiejar import DefaultCookiePolicy
from typing import Any, Final, TypeAlias

import requests
import urllib3
from requests.adapters import HTTPAdapter
from urllib3 import HTTPConnectionPool, HTTPSConnectionPool
from urllib3.connection import HTTPConnection, HTTPSConnection

from autoscaler.net.body import read_body
from autoscaler.net.connection import Dial, Left, bounded
from autoscaler.net.errors import Dropped, HttpError, Unreachable, http_error
from autoscaler.net.limits import MAX_ANSWER, Tls
from autoscaler.net.lookup import positive
from autoscaler.net.secrets import Secrets, of_headers, of_proxies
from autoscaler.version import USER_AGENT

_READS: Final = ("GET", "HEAD")
Authorize: TypeAlias = Callable[[requests.PreparedRequest], requests.PreparedRequest]
"""Adds credentials to a complete request."""


class Session(requests.Session):
    """Returns complete answers of one peer within `timeout`; raises HttpError otherwise.

    It keeps connections but no cookies, follows no redirect and reads no .netrc. Use it from one thread at a time.

    What `auth` adds to a request is secret, as are the `secrets` and a proxy's password. They are replaced in errors
    and in the headers of answers; those of the request's headers also in the bodies of answers with an error status,
    and long ones in every body.
    """

    def __init__(
        self,
        tls: Tls | None = None,
        *,
        largest: int = MAX_ANSWER,
        dial: Dial | None = None,
        environment: bool = False,
        compressed: bool = True,
        connect_share: Callable[[], float] = lambda: 1.0,
        secrets: Iterable[str] = (),
        **options: Any,
    ) -> None:
        """`largest`: decompressed bytes of an answer's body. `dial` connects instead of the URL's host and port.

        `secrets`: values in URLs, forms and headers that no text may show.

        `compressed`: whether to request gzip; a gzip answer is decompressed in any case, within the same bounds.
        `connect_share`: returns the share of a request's time that connecting may take, above 0 and up to 1.
        `environment`: whether HTTPS_PROXY, NO_PROXY, REQUESTS_CA_BUNDLE and the like apply. `options` are for a second
        base class: a client library that is a session itself.
        """
        super().__init__(**options)
        tls = tls or Tls()
        self.trust_env = environment
        self.headers["User-Agent"] = USER_AGENT
        self.cookies.set_policy(DefaultCookiePolicy(allowed_domains=()))
        self.verify = not tls.insecure_skip_verify and (str(tls.ca_file) if tls.ca_file else True)
        if tls.cert_file:
            self.cert = (str(tls.cert_file), str(tls.key_file or tls.cert_file))
        if tls.insecure_skip_verify:  # the setting is explicit: no warning for each request
            urllib3.disable_warnings(urllib3.exceptions.InsecureRequestWarning)
        self.transport: Final = Transport(
            tls.server_name, largest, dial, secrets, compressed=compressed, connect_share=connect_share
        )
        """The adapter of every request. A client library that mounts another one loses the deadline."""
        self.adapters.clear()
        self.mount("http://", self.transport)
        self.mount("https://", self.transport)

    @property
    def known_secrets(self) -> Secrets:
        """The secrets of the last request, to be hidden where a text of its answer's data is shown."""
        return self.transport.secrets

    def request(  # type: ignore[override] # requests itself only calls it like this
        self, method: str, url: str, *, timeout: float, read: bool | None = None, **options: Any
    ) -> requests.Response:
        """Return the whole answer with any status, within `timeout` seconds. Raises HttpError.

        `read`: whether the request changes nothing (default: a GET or HEAD). A read is repeated once, on a new
        connection and within the same time, when the peer has dropped the connection that was kept.
        """
        end = time.monotonic() + timeout
        try:
            return self._once(method, url, timeout, options)
        except Dropped:
            if not (method in _READS if read is None else read):
                raise
        self.get_adapter(url).close()  # other connections that were kept may have been dropped, too
        return self._once(method, url, end - time.monotonic(), options)

    def _once(self, method: str, url: str, timeout: float, options: Mapping[str, Any]) -> requests.Response:
        handled = sys.exception()
        self.transport.sent = ()
        auth = self._noting(options.get("auth") or _unchanged)
        try:
            # pass `verify`: REQUESTS_CA_BUNDLE would override the session's own
            return super().request(method, url, timeout=timeout, **{"verify": self.verify, **options, "auth": auth})
        except HttpError as error:
            raise type(error)(self.known_secrets.hidden(str(error))) from None
        except (OSError, ValueError, urllib3.exceptions.HTTPError) as error:  # requests' errors are OSErrors
            failed = http_error(error, timeout, handled)
            raise type(failed)(self.known_secrets.hidden(str(failed))) from None

    def _noting(self, auth: Authorize) -> Authorize:
        """Return `auth`, and note the headers that it adds to a request. Without any, requests would read ~/.netrc."""

        def authorized(request: requests.PreparedRequest) -> requests.PreparedRequest:
            before = dict(request.headers)
            made = auth(request)
            added = [value for name, value in made.headers.items() if before.get(name) != value]
            self.transport.sent = tuple(of_headers(added))
            return made

        return authorized

    def get_redirect_target(self, resp: requests.Response) -> None:
        """Return no redirect: a redirect would send credentials to an address that is not configured."""


class Transport(HTTPAdapter):
    """Reads every answer completely, within its bounds."""

    def __init__(
        self,
        server_name: str | None,
        largest: int,
        dial: Dial | None,
        secrets: Iterable[str],
        *,
        compressed: bool,
        connect_share: Callable[[], float],
    ) -> None:
        self._always = tuple(secrets)
        self.sent: tuple[str, ...] = ()
        """The secrets in the headers of the next request, or of the last one."""
        self._end = 0.0
        self._connect_end = 0.0
        self._connect_share = connect_share
        self._encoding = "gzip" if compressed else "identity"
        self._largest = largest
        self._names = {} if server_name is None else {"server_hostname": server_name, "assert_hostname": server_name}
        self._pools = _pools(self._left, self._left_to_connect, dial)
        super().__init__()

    def init_poolmanager(self, connections: int, maxsize: int, block: bool = False, **options: Any) -> None:
        """Create pools of bounded connections; HTTPAdapter calls it."""
        super().init_poolmanager(connections, maxsize, block, **options, **self._names)
        self.poolmanager.pool_classes_by_scheme = self._pools

    def proxy_manager_for(self, proxy: str, **options: Any) -> Any:
        """Create the same pools through a proxy; HTTPAdapter calls it."""
        if proxy.lower().startswith("socks"):
            raise Unreachable("the environment sets a SOCKS proxy; only HTTP proxies are supported")
        manager = super().proxy_manager_for(proxy, **options, **self._names)
        manager.pool_classes_by_scheme = self._pools
        return manager

    @property
    def secrets(self) -> Secrets:
        """All secrets of that request."""
        return Secrets((*self._always, *self.sent))

    def send(  # type: ignore[override] # only the session calls it, with a time-out of one number
        self, request: requests.PreparedRequest, *, timeout: float, **options: Any
    ) -> requests.Response:
        """Return the answer with its body in memory."""
        now = time.monotonic()
        self._end = now + timeout
        self._connect_end = now + timeout * self._connect_share()
        request.headers["Accept-Encoding"] = self._encoding  # `read_body` decodes both
        self.sent += tuple(of_proxies(options.get("proxies") or {}))
        response = super().send(request, **{**options, "stream": True, "timeout": positive(timeout)})
        # Set the body directly: through `raw`, requests would copy it three times. Dropping `raw` drops its cookies.
        body = read_body(response.raw, self._largest, self._left)
        response._content = self._without_secrets(response, body)  # noqa: SLF001 - no public method does it
        response.raw = io.BytesIO()
        return response

    def _without_secrets(self, response: requests.Response, body: bytes) -> bytes:
        """Return the body as it may be shown, and replace the secrets in the status line and in the headers."""
        secrets = self.secrets
        response.reason = secrets.hidden(response.reason or "")
        for name, value in response.headers.items():
            response.headers[name] = secrets.hidden(value)
        return Secrets(self.sent).hidden_in(body, data=response.ok)

    def _left(self) -> float:
        return self._end - time.monotonic()

    def _left_to_connect(self) -> float:
        return self._connect_end - time.monotonic()


def _unchanged(request: requests.PreparedRequest) -> requests.PreparedRequest:
    return request


def _pools(left: Left, left_to_connect: Left, dial: Dial | None) -> dict[str, type[HTTPConnectionPool]]:
    """Return pools of connections with the deadline, by URL scheme."""

    class PlainPool(HTTPConnectionPool):
        ConnectionCls = bounded(HTTPConnection, left, dial=dial, left_to_connect=left_to_connect)

    class EncryptedPool(HTTPSConnectionPool):
        ConnectionCls = bounded(HTTPSConnection, left, dial=dial, left_to_connect=left_to_connect)

    return {"http": PlainPool, "https": EncryptedPool}
