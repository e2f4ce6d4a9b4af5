"""Asks a Prometheus, a few queries at a time, each within a limit."""

from collections import deque
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Generic, NamedTuple, TypeVar

from autoscaler.clock import Clock
from autoscaler.config.settings import PrometheusSource
from autoscaler.errors import MetricError
from autoscaler.observe.client import PrometheusClient
from autoscaler.observe.credentials import without_login
from autoscaler.observe.failure import NoAnswer, QueryError, again
from autoscaler.observe.gate import Gate
from autoscaler.observe.ranges import Grid, RangeResult
from autoscaler.observe.result import QueryResult

_T = TypeVar("_T")


class Exchange(NamedTuple, Generic[_T]):
    """One query that was sent, or that was not."""

    answer: _T | MetricError
    """Of an error the message names the source."""
    seconds: float
    """How long the source had it: without the wait for its turn."""


class Prometheus:
    """One source of the configuration. Any thread may ask."""

    def __init__(self, name: str, source: PrometheusSource, clock: Clock, gate: Gate | None = None) -> None:
        """`gate`: what others that ask the same server go through as well."""
        self._name = name
        self._source = source
        self._clock = clock
        self._gate = gate or Gate(source.concurrency)
        self._idle: deque[PrometheusClient] = deque()

    @property
    def url(self) -> str:
        """Where it is asked, as it may be shown."""
        return without_login(self._source.url)

    @property
    def concurrency(self) -> int:
        """How many may ask at a time; more would only wait."""
        return self._source.concurrency

    @property
    def timeout_seconds(self) -> float:
        """How long a query may take."""
        return self._source.timeout.total_seconds()

    def follow(self, members: int) -> None:
        """So many daemons divide what the source is sent, this one among them."""
        self._gate.follow(members=members)

    def query(self, expr: str, at: datetime, deadline: float) -> QueryResult:
        """The complete answer to an instant query, evaluated at `at`.

        Gives up after the source's timeout, and at `deadline` (seconds on the clock's monotonic()), waiting for its
        turn included. Raises MetricError that names the source and what came instead (a QueryError where the query
        may be to blame); partial data is one, too.
        """
        return _raised(self.exchange(expr, at, deadline, self.timeout_seconds).answer)

    def exchange(
        self, expr: str, at: datetime, deadline: float, seconds: float, *, heavy: bool = False
    ) -> Exchange[QueryResult]:
        """The same with a limit of its own, errors as values. `heavy`: it goes when no other query waits."""
        return self._named(lambda client, left: client.instant_query(expr, at, left), deadline, seconds, heavy=heavy)

    def range(self, expr: str, grid: Grid, deadline: float) -> RangeResult:
        """The complete answer to a range query, within the same limits. Raises as `query` does."""
        ask = self._named(lambda client, left: client.range_query(expr, grid, left), deadline, self.timeout_seconds)
        return _raised(ask.answer)

    def get(self, path: str, form: Mapping[str, str], kind: type[_T], deadline: float) -> _T:
        """What its API has at `path` below /api/v1, of the type `kind` as msgspec knows it. Raises MetricError."""
        ask = self._named(lambda client, left: client.get(path, form, kind, left), deadline, self.timeout_seconds)
        return _raised(ask.answer)

    def _named(
        self,
        ask: Callable[[PrometheusClient, float], _T | MetricError],
        deadline: float,
        seconds: float,
        *,
        heavy: bool = False,
    ) -> Exchange[_T]:
        answer, took = self._exchange(ask, deadline, seconds, heavy=heavy)
        if isinstance(answer, MetricError):
            # not what the query says: mostly another address than was meant
            address = "" if isinstance(answer, QueryError) and not isinstance(answer, NoAnswer) else f" ({self.url})"
            answer = again(answer, f"prometheus {self._name!r} ", address)
        return Exchange(answer, took)

    def _exchange(
        self,
        ask: Callable[[PrometheusClient, float], _T | MetricError],
        deadline: float,
        seconds: float,
        *,
        heavy: bool,
    ) -> Exchange[_T]:
        if not self._gate.enter(deadline - self._clock.monotonic(), heavy=heavy):
            return Exchange(MetricError(f"was not asked: {self._gate.limit} earlier queries are still under way"), 0.0)
        try:
            return self._asked(ask, deadline, seconds)
        finally:
            self._gate.leave(heavy=heavy)

    def _asked(
        self, ask: Callable[[PrometheusClient, float], _T | MetricError], deadline: float, seconds: float
    ) -> Exchange[_T]:
        began = self._clock.monotonic()
        seconds = min(deadline - began, seconds)
        if seconds <= 0:
            return Exchange(MetricError("was not asked: the cycle's time is over"), 0.0)
        client = self._client()
        try:
            return Exchange(ask(client, seconds), self._clock.monotonic() - began)
        finally:
            self._idle.append(client)

    def _client(self) -> PrometheusClient:
        try:
            return self._idle.pop()
        except IndexError:
            return PrometheusClient(self._source, self._clock)

    def close(self) -> None:
        """Let go of idle connections. What is under way ends by itself, within its limit."""
        while self._idle:
            self._idle.pop().close()


def _raised(answer: _T | MetricError) -> _T:
    if isinstance(answer, MetricError):
        raise answer
    return answer
