"""Chooses between GET and POST for the queries to one source.

A long query is sent by POST. Some proxies let only one of the two pass, and answer the other with 403, 405 or 501; then
the other one is tried. Prometheus takes both: prometheus.io/docs/prometheus/latest/querying/api, "Instant queries".
"""

import threading
from collections.abc import Mapping
from http import HTTPStatus
from typing import Final, Literal, NamedTuple, TypeAlias
from urllib.parse import urlencode
from weakref import WeakValueDictionary

from autoscaler.clock import Clock
from autoscaler.config.settings import PrometheusSource
from autoscaler.observe.credentials import without_login

Method: TypeAlias = Literal["GET", "POST"]
MAY_REFUSE_METHOD: Final = (HTTPStatus.FORBIDDEN, HTTPStatus.METHOD_NOT_ALLOWED, HTTPStatus.NOT_IMPLEMENTED)
"""HTTP statuses that may mean that the other method passes."""
OF_THE_API: Final = (
    HTTPStatus.OK,
    HTTPStatus.BAD_REQUEST,
    HTTPStatus.UNPROCESSABLE_ENTITY,
    HTTPStatus.SERVICE_UNAVAILABLE,
)
"""HTTP statuses with which Prometheus' API itself answers a query."""
MAX_URL: Final = 8192
"""Bytes of the longest URL that is sent where POST is refused. Proxies commonly reject longer ones."""
_MAX_URL_QUERY: Final = 2000
"""Longest parameters of a GET, in characters, where POST passes."""
_HOLDS_SECONDS: Final = 3600.0
_MAX_ENCODED: Final = 3
"""Bytes of a URL for one byte of text."""


class _Refused(NamedTuple):
    """A method that the source refused while the other one passes."""

    method: Method
    status: int
    until: float
    """When the refused method is tried again, on the monotonic clock."""


class Methods:
    """Which methods one source takes. Usable from any thread."""

    def __init__(self, url: str, params: Mapping[str, str], clock: Clock) -> None:
        self._url, self._params, self._clock = url, params, clock
        self._refusal: _Refused | None = None
        """Kept until the method passes, also after an hour, so that merged queries stay short."""

    @property
    def longest_text(self) -> int | None:
        """The most bytes of a merged query's text, so that its URL is short enough; None: POST passes."""
        refusal = self._refusal  # read once: another thread may replace it
        if refusal is None or refusal.method != "POST":
            return None
        rest = self.url_length("query", {**self._params, "time": "1763802498.500", "query": ""})
        return (MAX_URL - rest) // _MAX_ENCODED

    def url_length(self, path: str, form: Mapping[str, str]) -> int:
        """Return the length of the URL of a GET, in bytes."""
        return len(f"{self._url}/api/v1/{path}?{urlencode(form)}".encode())

    def choose(self, form: Mapping[str, str]) -> Method:
        """Return the method for a query with these parameters."""
        refusal = self._refusal
        if refusal is not None and self._clock.monotonic() < refusal.until:
            return other(refusal.method)
        return "POST" if len(urlencode(form)) > _MAX_URL_QUERY else "GET"

    def passed(self, method: Method) -> None:
        """Note that the source's API has answered a query by this method, which then is refused no longer."""
        refusal = self._refusal
        if refusal is not None and refusal.method == method:
            self._refusal = None

    def refused(self, method: Method, status: int) -> None:
        """Note that the source has refused this method with an HTTP status: `choose` returns the other for an hour."""
        self._refusal = _Refused(method, status, self._clock.monotonic() + _HOLDS_SECONDS)

    def too_long(self, length: int) -> str:
        """Return the error and the remedy for a query whose URL is too long, while the source refuses POST.

        `length`: of the URL, in bytes.
        """
        refusal = self._refusal
        status = "" if refusal is None else f" with HTTP {refusal.status}"
        return (
            f"refuses POST{status}, and by GET the query's URL has {length:,} bytes, above the limit of "
            f"{MAX_URL:,}; let its proxy pass POST of /api/v1/query, or shorten the expression"
        )


_SHARED: Final[WeakValueDictionary[str, Methods]] = WeakValueDictionary()
_SHARING: Final = threading.Lock()


def shared_methods(source: PrometheusSource, clock: Clock) -> Methods:
    """Return the methods of a source. All shards share them, so the choice outlasts a reload that keeps the source."""
    url = without_login(source.url)
    key = repr((id(clock), url, source.params, source.headers))
    with _SHARING:
        return _SHARED.setdefault(key, Methods(url, source.params, clock))


def other(method: Method) -> Method:
    """Return the other method."""
    return "GET" if method == "POST" else "POST"
