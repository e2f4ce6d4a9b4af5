"""Asks a Prometheus, a few queries at a time, each within a limit."""

from collections import deque
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import TypeVar

from autoscaler.clock import Clock
from autoscaler.config.settings import PrometheusSource
from autoscaler.errors import MetricError
from autoscaler.observe.client import PrometheusClient
from autoscaler.observe.credentials import without_login
from autoscaler.observe.failure import QueryError, again
from autoscaler.observe.gate import Gate
from autoscaler.observe.ranges import Grid, RangeResult
from autoscaler.observe.result import QueryResult

_T = TypeVar("_T")


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

    def query(self, expr: str, at: datetime, deadline: float) -> QueryResult:
        """The complete answer to an instant query, evaluated at `at`.

        Gives up after the source's timeout, and at `deadline` (seconds on the clock's monotonic()), waiting for its
        turn included. Raises MetricError that names the source and what came instead (a QueryError where the query
        may be to blame); partial data is one, too.
        """
        return self._answer(lambda client, seconds: client.instant_query(expr, at, seconds), deadline)

    def range(self, expr: str, grid: Grid, deadline: float) -> RangeResult:
        """The complete answer to a range query, within the same limits. Raises as `query` does."""
        return self._answer(lambda client, seconds: client.range_query(expr, grid, seconds), deadline)

    def get(self, path: str, form: Mapping[str, str], kind: type[_T], deadline: float) -> _T:
        """What its API has at `path` below /api/v1, of the type `kind` as msgspec knows it. Raises MetricError."""
        outcome = self._outcome(lambda client, seconds: client.get(path, form, kind, seconds), deadline)
        if isinstance(outcome, MetricError):
            raise MetricError(f"prometheus {self._name!r} {outcome} ({self.url})")
        return outcome

    def _answer(self, ask: Callable[[PrometheusClient, float], _T | MetricError], deadline: float) -> _T:
        outcome = self._outcome(ask, deadline)
        if isinstance(outcome, QueryError):
            raise again(outcome, f"prometheus {self._name!r} ")
        if isinstance(outcome, MetricError):  # not the query's fault: mostly another address than was meant
            raise MetricError(f"prometheus {self._name!r} {outcome} ({self.url})")
        return outcome

    def _outcome(self, ask: Callable[[PrometheusClient, float], _T | MetricError], deadline: float) -> _T | MetricError:
        if not self._gate.enter(deadline - self._clock.monotonic()):
            return MetricError(f"was not asked: {self._gate.limit} earlier queries are still under way")
        try:
            give_back = self._gate.permit(deadline - self._clock.monotonic())
            if isinstance(give_back, MetricError):
                return give_back
            try:
                return self._asked(ask, deadline)
            finally:
                give_back()
        finally:
            self._gate.leave()

    def _asked(self, ask: Callable[[PrometheusClient, float], _T | MetricError], deadline: float) -> _T | MetricError:
        seconds = min(deadline - self._clock.monotonic(), self._source.timeout.total_seconds())
        if seconds <= 0:
            return MetricError("was not asked: the cycle's time is over")
        client = self._client()
        try:
            return ask(client, seconds)
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
