"""The one place that knows prometheus-api-client: asks a Prometheus an instant query, within a limit.

That client has no deadline of its own, retries behind our back, forgets the result's type and the warnings, and puts
a POST's parameters into the URL. The session that it is given here mends all four.
"""

import queue
from datetime import datetime
from typing import Final
from urllib.parse import urlsplit, urlunsplit

from prometheus_api_client import PrometheusConnect
from urllib3.util.retry import Retry

from autoscaler.clock import Clock
from autoscaler.config.settings import PrometheusSource
from autoscaler.errors import MetricError
from autoscaler.observe.result import QueryResult
from autoscaler.observe.session import Session, Transport

AT_ONCE: Final = 2
"""Queries that one Prometheus is sent at a time."""


class Prometheus:
    """One source of the configuration. Any thread may ask; at most AT_ONCE questions are under way."""

    def __init__(self, name: str, source: PrometheusSource, clock: Clock) -> None:
        self._name = name
        self._source = source
        self._clock = clock
        self._idle: queue.LifoQueue[PrometheusConnect] = queue.LifoQueue()
        for _ in range(AT_ONCE):
            self._idle.put(_connect(source, clock))

    def query(self, expr: str, at: datetime, deadline: float) -> QueryResult:
        """The complete answer to an instant query, evaluated at `at`.

        Gives up after the source's timeout, and at `deadline` (seconds on the clock's monotonic()), waiting for its
        turn included. Raises MetricError that names the source and what came instead; partial data is one, too.
        """
        try:
            return self._query(expr, at, deadline)
        except MetricError as error:
            raise MetricError(f"prometheus {self._name!r} {error}") from None

    def _query(self, expr: str, at: datetime, deadline: float) -> QueryResult:
        try:
            client = self._idle.get(timeout=max(deadline - self._clock.monotonic(), 0))
        except queue.Empty:
            raise MetricError(f"was not asked: {AT_ONCE} earlier queries are still under way") from None
        try:
            seconds = min(deadline - self._clock.monotonic(), self._source.timeout.total_seconds())
            if seconds <= 0:
                raise MetricError("was not asked: the cycle's time is over")
            ours = {"query": expr, "time": f"{at.timestamp():.3f}"}  # the configuration's params never replace these
            result: QueryResult = client.custom_query(expr, {**self._source.params, **ours}, timeout=seconds)
        finally:
            self._idle.put(client)
        if result.partial:
            raise MetricError(f"answered with partial data: {'; '.join(result.partial)}")
        return result

    def close(self) -> None:
        """Let go of idle connections. What is under way ends by itself, within its limit."""
        while True:
            try:
                self._idle.get_nowait().close()
            except queue.Empty:
                return


def _connect(source: PrometheusSource, clock: Clock) -> PrometheusConnect:
    """A client of its own: sessions are not for two threads at once."""
    url, login = _without_login(source.url)
    session = Session(source, login, clock)
    # Retry(0): the next cycle asks again; a retry would only eat this one's time.
    client = PrometheusConnect(url, headers=dict(source.headers), session=session, retry=Retry(0))
    if source.tls and source.tls.server_name:
        session.mount(url, Transport(source.tls.server_name))  # after the client, which mounts its own there
    return client


def _without_login(url: str) -> tuple[str, tuple[str, str] | None]:
    """The URL as it may be shown, and `user:password` when there was one in it."""
    parts = urlsplit(url)
    login = (parts.username or "", parts.password or "") if parts.username or parts.password else None
    return urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2])).rstrip("/"), login
