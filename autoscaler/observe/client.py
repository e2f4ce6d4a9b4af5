"""The only user of prometheus-api-client. Returns a query's complete answer or a MetricError.

That library has no deadline, retries by default, drops the result type and the warnings, and puts a POST's parameters
into the URL. This client uses a bounded session and decodes the answer itself.
"""

import re
from collections.abc import Callable, Mapping
from datetime import datetime
from http import HTTPStatus
from typing import Final, TypeVar

from msgspec.structs import replace
from prometheus_api_client import PrometheusConnect
from requests import Response

from autoscaler.clock import Clock
from autoscaler.config.settings import Compression, PrometheusSource
from autoscaler.errors import MAX_MESSAGE, MetricError
from autoscaler.net.answer import beginning
from autoscaler.net.errors import HttpError, Late, Malformed, TooLarge, Unreachable, WithoutTls
from autoscaler.net.limits import on_this_machine
from autoscaler.net.secrets import Secrets, of_headers
from autoscaler.net.session import Session
from autoscaler.observe.answer import MORE_ROOM, REFUSED, NotAnAnswer, parse_answer, parse_look_up
from autoscaler.observe.credentials import Credentials, plain_headers, without_login
from autoscaler.observe.failure import NoValue, QueryFailure, not_now
from autoscaler.observe.freshness import ServerTime, check_fresh, date_of
from autoscaler.observe.methods import (
    MAX_URL,
    MAY_REFUSE_METHOD,
    OF_THE_API,
    Method,
    Methods,
    other,
)
from autoscaler.observe.planner.outcome import Outcome
from autoscaler.observe.ranges import Grid, RangeResult, parse_range
from autoscaler.observe.result import QueryResult
from autoscaler.text import plain

_AWS_ERROR: Final = re.compile(r"[A-Za-z]{1,64}Exception\b")
"""The beginning of AWS' header for the kind of an error. No other text of a refusal is shown: it may repeat secrets."""
_T = TypeVar("_T")
_MAX_TYPE: Final = 128
"""Longest content type shown, in bytes."""


class PrometheusClient(PrometheusConnect):  # type: ignore[misc] # the library ships no types
    """A connection to one Prometheus, for one thread at a time."""

    def __init__(self, source: PrometheusSource, credentials: Credentials, methods: Methods, clock: Clock) -> None:
        """`credentials`, `methods`: shared by the connections to this source."""
        written = plain_headers(source.headers)
        session = Session(
            source.tls,
            largest=source.max_answer,
            environment=True,
            compressed=compressed(source),
            secrets=(*of_headers(written.values()), *source.params.values()),
        )
        headers = {**written, "Cache-Control": "no-cache"}
        super().__init__(without_login(source.url), headers=headers, session=session)
        self._credentials = credentials
        self._methods = methods
        session.mount(self.url, session.transport)  # replaces the library's adapter, which retries and has no deadline
        self._source = source
        self._clock = clock
        self.server_time: ServerTime | None = None
        """The server's time at its last answer; None: no answer said it."""

    def instant_query(self, expr: str, at: datetime, seconds: float) -> QueryResult | QueryFailure:
        """Return the answer to `expr` at the time `at`, within `seconds`, or the failure.

        The configuration's params never replace the query's own parameters.
        """
        time, largest = f"{at.timestamp():.3f}", self._source.max_answer
        return self._query(
            "query",
            {"time": time, "query": expr},
            seconds,
            lambda body, status: parse_answer(body, status, float(time), largest),
        )

    def range_query(self, expr: str, grid: Grid, seconds: float) -> RangeResult | QueryFailure:
        """Return the answers at every time of a grid. The server also gets the time limit.

        `nocache` stops VictoriaMetrics from moving the times to those in its cache.
        """
        form = {
            "query": expr,
            "start": f"{grid.seconds(0):.3f}",
            "end": f"{grid.seconds(grid.count - 1):.3f}",
            "step": f"{grid.step.total_seconds():.3f}",
            "timeout": f"{seconds * 1000:.0f}ms",
            "nocache": "1",
        }
        largest = self._source.max_answer
        return self._query("query_range", form, seconds, lambda body, status: parse_range(body, status, grid, largest))

    def _query(
        self, path: str, question: Mapping[str, str], seconds: float, parse: Callable[[bytes, int], _T]
    ) -> _T | QueryFailure:
        """Return the answer by GET or POST. If the source refuses the method, the other one is tried once."""
        form, began = {**self._source.params, **question}, self._clock.monotonic()
        length, first = self._methods.url_length(path, form), self._methods.choose(form)
        if first == "GET" and self._methods.longest_text is not None and length > MAX_URL:
            return self._too_long(length)
        answer, status = self._exchange(first, path, form, seconds, parse)
        if status == HTTPStatus.OK:
            self._methods.passed(first)
        if status not in MAY_REFUSE_METHOD:
            return answer
        second = other(first)
        if second == "GET" and length > MAX_URL:
            self._methods.refused(first, status)
            return self._too_long(length)
        left = seconds - (self._clock.monotonic() - began)
        again, second_status = self._exchange(second, path, form, left, parse)
        if isinstance(again, QueryFailure) and not (
            again.answered and (second_status in OF_THE_API or again.outcome is Outcome.TOO_LARGE)
        ):  # the source's API itself has not answered
            return answer
        self._methods.refused(first, status)
        return again

    def _too_long(self, length: int) -> QueryFailure:
        """Return the failure of a query that only POST could send. The members of a merged one may be short enough."""
        return QueryFailure(self._methods.too_long(length), outcome=Outcome.REFUSED, answered=True)

    def _exchange(
        self, method: Method, path: str, form: Mapping[str, str], seconds: float, parse: Callable[[bytes, int], _T]
    ) -> tuple[_T | QueryFailure, int | None]:
        """Return the answer or the failure, and the HTTP status; None without an answer."""
        asked, status = self._clock.now(), None
        try:
            response = self._send(method, path, seconds, **{"data" if method == "POST" else "params": form})
            status = response.status_code
            if (date := date_of(response.headers)) is not None:
                self.server_time = ServerTime(date, self._clock.monotonic())
            if status in REFUSED:  # a signature of another time is refused, and the Date says so
                check_fresh(response.headers, asked, self._clock.now())
            result = _read(response, parse, self._credentials.remedy, self._session.known_secrets)
            check_fresh(response.headers, asked, self._clock.now())
        except (HttpError, MetricError) as error:
            return _failure(error), status
        return result, status

    def get(self, path: str, form: Mapping[str, str], kind: type[_T], seconds: float) -> _T | QueryFailure:
        """Return the `data` that the API has at `path` below /api/v1, decoded as `kind`, or the failure."""
        form, largest = {**self._source.params, **form}, self._source.max_answer
        answer, _ = self._exchange(
            "GET", path, form, seconds, lambda body, status: parse_look_up(body, status, kind, largest)
        )
        return answer

    def _send(self, method: str, path: str, seconds: float, **form: Mapping[str, str]) -> Response:
        """Return the answer within `seconds`, of which the credentials may take a part."""
        began = self._clock.monotonic()
        authorize = self._credentials.authorize(seconds)
        left = seconds - (self._clock.monotonic() - began)
        if left <= 0:  # it would count as a slow query
            raise MetricError("was not asked: its credentials came when its time was over")
        url = f"{self.url}/api/v1/{path}"
        answer: Response = self._session.request(
            method, url, headers=self.headers, auth=authorize, timeout=left, read=True, **form
        )
        if answer.status_code in REFUSED:
            self._credentials.refused()
        return answer


def compressed(source: PrometheusSource) -> bool:
    """Return whether to request compressed answers."""
    if source.compression is not Compression.AUTO:
        return source.compression is Compression.ON
    return not on_this_machine(source.url)


def _failure(error: HttpError | MetricError) -> QueryFailure:
    """Return an error as a value, because its traceback keeps the whole answer in memory."""
    text = plain(str(error), MAX_MESSAGE)
    match error:
        case NoValue(failure=QueryFailure() as failure):
            return failure
        case MetricError():
            return QueryFailure(text)
        case Late():
            return QueryFailure(text, outcome=Outcome.LATE)
        case TooLarge():
            return QueryFailure(f"{text}; {MORE_ROOM}", outcome=Outcome.TOO_LARGE, answered=True)
        case WithoutTls():
            return QueryFailure(f"cannot be asked: {text}; write http:// instead of https:// in its url")
        case Unreachable():
            return QueryFailure(f"cannot be asked: {text}; start it, or correct its url")
    return QueryFailure(f"cannot be asked: {text}")


def _read(response: Response, parse: Callable[[bytes, int], _T], remedy: str, secrets: Secrets) -> _T:
    """Return the result. Raises a MetricError that describes any other response. `remedy`: for one that refuses."""
    status, body = response.status_code, response.content
    said = f"answered HTTP {status}"
    if status == HTTPStatus.UNAUTHORIZED or status in MAY_REFUSE_METHOD:
        said = f"{said} to {response.request.method}"
    if response.is_redirect:
        raise MetricError(f"answered HTTP {status}, a redirect; put the address it leads to into its url")
    try:
        return _parsed(body, status, parse, secrets)
    except NoValue as error:
        text = str(error).replace(f"answered HTTP {status}", said, 1)
        if status in REFUSED:
            text = f"{said} with an error whose text may repeat secrets; {remedy}"
        raise NoValue(replace(error.failure, message=text)) from None
    except NotAnAnswer as error:
        kind = plain(response.headers.get("Content-Type", "no content type"), _MAX_TYPE)
        wrong = ": ".join(filter(None, (plain(str(error), 256), _words(response, secrets))))
        if error_type := _AWS_ERROR.match(response.headers.get("x-amzn-ErrorType", "")):
            wrong = error_type[0]
        wrong = f": {wrong}" if wrong else ""
        found = f"{len(body)} bytes of {kind}, not with a result{wrong}"
        raise MetricError(f"{said} with {found}; {_hint(status, remedy)}") from None


def _words(response: Response, secrets: Secrets) -> str:
    """Return the words of an error in no known form, unless it is a page or may repeat secrets."""
    status, kind = response.status_code, response.headers.get("Content-Type", "")
    page = "html" in kind.lower() or response.content.lstrip()[:1] == b"<"
    if status < HTTPStatus.BAD_REQUEST or status in REFUSED or page:
        return ""
    return beginning(secrets.hidden_in(response.content))


def _hint(status: int, remedy: str) -> str:
    """Return what to do about an answer without a result. `remedy`: for one that refuses the credentials."""
    if status in REFUSED:
        return remedy
    if busy := not_now(status):
        return busy
    if status in MAY_REFUSE_METHOD:
        return "let its proxy pass GET and POST"
    if status >= HTTPStatus.INTERNAL_SERVER_ERROR or HTTPStatus.OK < status < HTTPStatus.MULTIPLE_CHOICES:
        return "see the log of the server, and of a proxy before it"
    return "check its url"


def _parsed(body: bytes, status: int, parse: Callable[[bytes, int], _T], secrets: Secrets) -> _T:
    """Return the result. An error is that of the answer, with the words of the answer without the secrets."""
    try:
        return parse(body, status)
    except (MetricError, NotAnAnswer, Malformed) as error:
        shown = secrets.hidden_in(body)
        if shown == body:
            raise
        try:
            parse(shown, status)
        except (MetricError, NotAnAnswer, Malformed) as same:
            if not isinstance(error, NoValue):
                raise same from None
            text = str(same) if isinstance(same, NoValue) else f"answered HTTP {status} with an error"
            raise NoValue(replace(error.failure, message=text)) from None
        raise NotAnAnswer from None
