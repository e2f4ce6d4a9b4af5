"""Queries a Prometheus, with limits on concurrency and time."""

from collections import deque
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Generic, NamedTuple, TypeAlias, TypeVar

from msgspec.structs import replace

from autoscaler.clock import Clock
from autoscaler.config.settings import PrometheusSource
from autoscaler.errors import MetricError
from autoscaler.observe.client import PrometheusClient
from autoscaler.observe.credentials import shared_credentials, without_login
from autoscaler.observe.failure import QueryFailure
from autoscaler.observe.freshness import ServerTime
from autoscaler.observe.gate import Gate
from autoscaler.observe.methods import shared_methods
from autoscaler.observe.ranges import Grid, RangeResult
from autoscaler.observe.result import QueryResult

_T = TypeVar("_T")


class Exchange(NamedTuple, Generic[_T]):
    """A query's result, sent or not."""

    answer: _T | QueryFailure
    """A failure's message names the source."""
    seconds: float
    """Time that the source took, without waiting for a turn."""


class Prometheus:
    """One source of the configuration. Usable from any thread."""

    def __init__(self, name: str, source: PrometheusSource, clock: Clock, gate: Gate | None = None) -> None:
        """`gate`: shared with other users of the same server."""
        self._name = name
        self._source = source
        self._credentials = shared_credentials(source, clock)
        self._methods = shared_methods(source, clock)
        self._clock = clock
        self._gate = gate or Gate(source.concurrency)
        self._idle: deque[PrometheusClient] = deque()
        self.server_time: ServerTime | None = None
        """The server's time at its last answer; None: it is not known."""

    @property
    def url(self) -> str:
        """The address without credentials, for messages."""
        return without_login(self._source.url)

    @property
    def concurrency(self) -> int:
        """Most concurrent queries."""
        return self._source.concurrency

    @property
    def longest_text(self) -> int | None:
        """Most bytes of a merged query's text; None: the planner's own limit, because long queries pass by POST."""
        return self._methods.longest_text

    @property
    def timeout_seconds(self) -> float:
        """Time limit of a query."""
        return self._source.timeout.total_seconds()

    def differs(self, at: datetime) -> bool:
        """Return whether the server's clock is known to differ by a minute or more from one that shows `at` now."""
        return self.server_time is not None and self.server_time.differs(at, self._clock.monotonic())

    def query(self, expr: str, at: datetime, deadline: float) -> QueryResult:
        """Return the complete answer to an instant query, evaluated at `at`.

        Gives up after the source's timeout, or at `deadline` (seconds on the clock's monotonic()), including the wait
        for a turn. Raises MetricError that names the source and the failure. Partial data is an error.
        """
        return _raised(self.exchange(expr, at, deadline, self.timeout_seconds).answer)

    def exchange(
        self, expr: str, at: datetime, deadline: float, seconds: float, *, heavy: bool = False
    ) -> Exchange[QueryResult]:
        """Run a query with its own time limit, and return a failure as a value.

        A `heavy` query runs when no other query waits.
        """
        return self._asked(lambda client, left: client.instant_query(expr, at, left), deadline, seconds, heavy=heavy)

    def range(self, expr: str, grid: Grid, deadline: float) -> RangeResult | QueryFailure:
        """Return the complete answer to a range query, within the same limits, or the failure."""
        return self._asked(
            lambda client, left: client.range_query(expr, grid, left), deadline, self.timeout_seconds
        ).answer

    def get(self, path: str, form: Mapping[str, str], kind: type[_T], deadline: float) -> _T:
        """Return the `data` that the API has at `path` below /api/v1, decoded as `kind`. Raises MetricError."""
        ask = self._asked(lambda client, left: client.get(path, form, kind, left), deadline, self.timeout_seconds)
        return _raised(ask.answer)

    def _asked(
        self,
        ask: Callable[[PrometheusClient, float], _T | QueryFailure],
        deadline: float,
        seconds: float,
        *,
        heavy: bool = False,
    ) -> Exchange[_T]:
        """Wait for a turn, and ask."""
        done = Exchange[_T](QueryFailure(f"was not asked: {self._gate.limit} earlier queries are still under way"), 0.0)
        if self._gate.enter(deadline - self._clock.monotonic(), heavy=heavy):
            try:
                done = self._in_turn(ask, deadline, seconds)
            finally:
                self._gate.leave(heavy=heavy)
        if isinstance(done.answer, QueryFailure):
            address = "" if done.answer.answered else f" ({self.url})"  # which is often wrong
            message = f"prometheus {self._name!r} {done.answer.message}{address}"
            return Exchange(replace(done.answer, message=message), done.seconds)
        return done

    def _in_turn(
        self, ask: Callable[[PrometheusClient, float], _T | QueryFailure], deadline: float, seconds: float
    ) -> Exchange[_T]:
        began = self._clock.monotonic()
        left = min(deadline - began, seconds)
        if left <= 0:
            return Exchange(QueryFailure("was not asked: the cycle's time is over"), 0.0)
        client = self._client()
        try:
            return Exchange(ask(client, left), self._clock.monotonic() - began)
        finally:
            self.server_time = client.server_time or self.server_time
            self._idle.append(client)

    def _client(self) -> PrometheusClient:
        try:
            return self._idle.pop()
        except IndexError:
            return PrometheusClient(self._source, self._credentials, self._methods, self._clock)

    def close(self) -> None:
        """Close idle connections. Running queries end within their own limits."""
        while self._idle:
            self._idle.pop().close()


Connect: TypeAlias = Callable[[str, PrometheusSource, Clock, Gate], Prometheus]
"""Makes the client of a source, from its name, its settings, the clock and the gate."""


def _raised(answer: _T | QueryFailure) -> _T:
    if isinstance(answer, QueryFailure):
        raise MetricError(answer)
    return answer
