"""requests' session for one peer, under one deadline."""

import io
import sys
import time
from http.cookiejar import DefaultCookiePolicy
from typing import Any, Final

import requests
import urllib3
from requests.adapters import HTTPAdapter
from urllib3 import HTTPConnectionPool, HTTPSConnectionPool
from urllib3.connection import HTTPConnection, HTTPSConnection

from autoscaler.target.http.body import read_body
from autoscaler.target.http.connection import Dial, Left, bounded
from autoscaler.target.http.errors import Unreachable, http_error
from autoscaler.target.http.limits import LARGEST_ANSWER, Tls
from autoscaler.target.http.lookup import positive
from autoscaler.version import USER_AGENT


class Session(requests.Session):
    """Complete answers of one peer, each within its `timeout`; all else is an HttpError.

    It keeps connections, and no cookies; it follows no redirect and reads no .netrc. For one thread at a time.
    """

    def __init__(
        self,
        tls: Tls | None = None,
        *,
        largest: int = LARGEST_ANSWER,
        dial: Dial | None = None,
        environment: bool = False,
        compressed: bool = True,
        **options: Any,
    ) -> None:
        """`largest`: bytes of an answer's body, decompressed. `dial` connects instead of the URL's host and port.

        `compressed`: whether answers are asked for in gzip; what comes in gzip all the same is unpacked, within the
        same bounds. `environment`: whether HTTPS_PROXY, NO_PROXY, REQUESTS_CA_BUNDLE and the like count. `options` are
        for a second base class, that of a client library which is a session itself.
        """
        super().__init__(**options)
        tls = tls or Tls()
        self.trust_env = environment
        self.auth = _unchanged  # without one, requests looks for a login in ~/.netrc
        self.headers["User-Agent"] = USER_AGENT
        self.cookies.set_policy(DefaultCookiePolicy(allowed_domains=()))
        self.verify = str(tls.ca_file) if tls.verify and tls.ca_file else tls.verify
        if tls.cert_file:
            self.cert = (str(tls.cert_file), str(tls.key_file or tls.cert_file))
        if not tls.verify:  # asked for: no reminder at every request
            urllib3.disable_warnings(urllib3.exceptions.InsecureRequestWarning)
        self.transport: Final = Transport(tls.server_name, largest, dial, compressed=compressed)
        """What every request goes through. A client library that mounts another one over it loses the deadline."""
        self.adapters.clear()
        self.mount("http://", self.transport)
        self.mount("https://", self.transport)

    def request(  # type: ignore[override] # requests itself calls it in this one way
        self, method: str, url: str, *, timeout: float, **options: Any
    ) -> requests.Response:
        """The whole answer, `timeout` seconds from now at most, whatever its status. Raises HttpError."""
        handled = sys.exception()
        try:
            # `verify` is handed over, for REQUESTS_CA_BUNDLE counts before a session's own
            return super().request(method, url, timeout=timeout, **{"verify": self.verify, **options})
        except (OSError, ValueError, urllib3.exceptions.HTTPError) as error:  # an OSError: requests' own, too
            raise http_error(error, timeout, handled) from None

    def get_redirect_target(self, resp: requests.Response) -> None:
        """Nowhere: credentials would go to an address that nobody configured."""


class Transport(HTTPAdapter):
    """Reads every answer to its end, within its bounds."""

    def __init__(self, server_name: str | None, largest: int, dial: Dial | None, *, compressed: bool) -> None:
        self._end = 0.0
        self._encoding = "gzip" if compressed else "identity"
        self._largest = largest
        self._names = {} if server_name is None else {"server_hostname": server_name, "assert_hostname": server_name}
        self._pools = _pools(self._left, dial)
        super().__init__()

    def init_poolmanager(self, connections: int, maxsize: int, block: bool = False, **options: Any) -> None:
        """Pools of bounded connections, called by HTTPAdapter."""
        super().init_poolmanager(connections, maxsize, block, **options, **self._names)
        self.poolmanager.pool_classes_by_scheme = self._pools

    def proxy_manager_for(self, proxy: str, **options: Any) -> Any:
        """The same through a proxy, called by HTTPAdapter."""
        if proxy.lower().startswith("socks"):
            raise Unreachable("the environment sets a SOCKS proxy; only HTTP proxies are supported")
        manager = super().proxy_manager_for(proxy, **options, **self._names)
        manager.pool_classes_by_scheme = self._pools
        return manager

    def send(  # type: ignore[override] # the session alone calls it, always with a time-out of one number
        self, request: requests.PreparedRequest, *, timeout: float, **options: Any
    ) -> requests.Response:
        """The answer, its body in memory."""
        self._end = time.monotonic() + timeout
        request.headers["Accept-Encoding"] = self._encoding  # `read_body` reads both
        response = super().send(request, **{**options, "stream": True, "timeout": positive(timeout)})
        # Handed over as read: through `raw`, requests would hold it three times. Its cookies go with `raw`, too.
        response._content = read_body(response.raw, self._largest, self._left)  # noqa: SLF001 - there is no other way in
        response.raw = io.BytesIO()
        return response

    def _left(self) -> float:
        return self._end - time.monotonic()


def _unchanged(request: requests.PreparedRequest) -> requests.PreparedRequest:
    return request


def _pools(left: Left, dial: Dial | None) -> dict[str, type[HTTPConnectionPool]]:
    """Pools of connections that know the deadline, by the URL's scheme."""

    class PlainPool(HTTPConnectionPool):
        ConnectionCls = bounded(HTTPConnection, left, dial=dial)

    class EncryptedPool(HTTPSConnectionPool):
        ConnectionCls = bounded(HTTPSConnection, left, dial=dial)

    return {"http": PlainPool, "https": EncryptedPool}
