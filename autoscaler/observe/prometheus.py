"""Asks a Prometheus instant queries, a few at a time, each within a limit."""

import queue
from datetime import datetime
from typing import Final

from autoscaler.clock import Clock
from autoscaler.config.settings import PrometheusSource
from autoscaler.errors import MetricError
from autoscaler.observe.client import PrometheusClient
from autoscaler.observe.result import QueryResult

AT_ONCE: Final = 2
"""Queries that one Prometheus is sent at a time."""


class Prometheus:
    """One source of the configuration. Any thread may ask; at most AT_ONCE questions are under way."""

    def __init__(self, name: str, source: PrometheusSource, clock: Clock) -> None:
        self._name = name
        self._source = source
        self._clock = clock
        self._idle: queue.LifoQueue[PrometheusClient] = queue.LifoQueue()
        for _ in range(AT_ONCE):
            self._idle.put(PrometheusClient(source, clock))

    def query(self, expr: str, at: datetime, deadline: float) -> QueryResult:
        """The complete answer to an instant query, evaluated at `at`.

        Gives up after the source's timeout, and at `deadline` (seconds on the clock's monotonic()), waiting for its
        turn included. Raises MetricError that names the source and what came instead; partial data is one, too.
        """
        outcome = self._outcome(expr, at, deadline)
        if isinstance(outcome, MetricError):
            raise MetricError(f"prometheus {self._name!r} {outcome}")
        return outcome

    def _outcome(self, expr: str, at: datetime, deadline: float) -> QueryResult | MetricError:
        try:
            client = self._idle.get(timeout=max(deadline - self._clock.monotonic(), 0))
        except queue.Empty:
            return MetricError(f"was not asked: {AT_ONCE} earlier queries are still under way")
        try:
            seconds = min(deadline - self._clock.monotonic(), self._source.timeout.total_seconds())
            if seconds <= 0:
                return MetricError("was not asked: the cycle's time is over")
            return client.instant_query(expr, at, seconds)
        finally:
            self._idle.put(client)

    def close(self) -> None:
        """Let go of idle connections. What is under way ends by itself, within its limit."""
        while True:
            try:
                self._idle.get_nowait().close()
            except queue.Empty:
                return
