"""A fake Prometheus that knows one kind of expression and fails as told.

`load{group="web"}` and `load{group=~"web|api"}` return a sample for each group, in the form of the HTTP API. Rejections
have the API's errors.
"""

import re
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any, Final, Protocol

import pytest

from autoscaler.clock import SystemClock
from autoscaler.config.settings import PrometheusSource
from autoscaler.model import Autoscaler, MetricType, Observation, Observed, TargetRef
from autoscaler.observe.failure import QueryFailure
from autoscaler.observe.gate import Gates
from autoscaler.observe.observer import Observer
from autoscaler.observe.planner.outcome import Outcome
from autoscaler.observe.prometheus import Exchange, Prometheus
from autoscaler.observe.queries import Queries
from autoscaler.observe.result import Point, QueryResult, ResultType
from autoscaler.observe.targets import Connection
from autoscaler.target.contract import RecordingLogger
from tests.observe.build import FakeAdapter, call, metric, scaler, state
from tests.observe.fake import answering
from tests.servers.web import Request
from tests.waiting import PATIENCE_SECONDS, until

Answer = tuple[int, dict[str, Any]]
"""An HTTP status and the body."""
UNHURRIED: Final = timedelta(minutes=1)
"""The `timeout` of a source that is asked hundreds of queries: a pause of the machine makes none of them late."""
_ASKED = re.compile(r'group=~?"([^"]*)"')


class Scripted:
    """The server: the queries it received, and its answers."""

    def __init__(self) -> None:
        self.url = ""
        self.asked: list[str] = []
        self.encodings: list[str | None] = []
        self.most_at_a_time = 0
        self.answer: Callable[[Sequence[str]], Answer] = answered
        """Responses to queries for these groups."""
        self.hold: threading.Semaphore | None = None
        """Each query waits for it."""
        self._inside = 0
        self._lock = threading.Lock()

    def handle(self, request: Request) -> None:
        """Handle one request."""
        form = request.form
        expr = form["query"]
        with self._lock:
            self.asked.append(expr)
            self.encodings.append(request.headers["Accept-Encoding"])
            self._inside += 1
            self.most_at_a_time = max(self.most_at_a_time, self._inside)
        if self.hold is not None:
            self.hold.acquire(timeout=PATIENCE_SECONDS)
        found = _ASKED.search(expr)
        status, body = self.answer(found[1].split("|") if found else [])
        for each in body.get("data", {"result": ()})["result"]:
            each["value"][0] = float(form["time"])
        with self._lock:
            self._inside -= 1
        request.reply(body, status)

    def taken(self) -> list[str]:
        """Return the queries since the last call."""
        asked, self.asked = self.asked, []
        return asked

    def until(self, count: int) -> None:
        """Wait for this many queries."""
        until(lambda: len(self.asked) >= count, lambda: f"{count} queries, not {self.asked}", every_seconds=0.002)


@contextmanager
def scripted() -> Iterator[Scripted]:
    """Run a server."""
    server = Scripted()
    with answering(server.handle) as fake:
        server.url = fake.url
        yield server


def sample(group: str, **labels: str) -> dict[str, Any]:
    """Return a group's sample, whose value is its number."""
    value = re.sub(r"\D", "", group) or "0"
    return {"metric": {"__name__": "load", "group": group} | labels, "value": [0, value]}


def answered(groups: Sequence[str], *more: dict[str, Any]) -> Answer:
    """Return an answer with a sample for each group."""
    return 200, {
        "status": "success",
        "data": {"resultType": "vector", "result": [*(sample(group) for group in groups), *more]},
    }


def refused(error: str, status: int = 422, kind: str = "execution") -> Answer:
    """Return an error of the API."""
    return status, {"status": "error", "errorType": kind, "error": error}


def fleet(count: int, first: int = 0) -> list[Autoscaler]:
    """Return autoscalers with one expression each."""
    return [
        scaler(
            metric(MetricType.EXTERNAL, f'load{{group="g{number}"}}'),
            name=f"g{number}",
            target=TargetRef("fleet", f"g{number}"),
        )
        for number in range(first, first + count)
    ]


class HasUrl(Protocol):
    """A Prometheus, real or fake."""

    @property
    def url(self) -> str: ...


class Ahead(SystemClock):
    """A clock whose monotonic time the test advances."""

    seconds = 0.0
    stands_at: float | None = None
    """Constant unless the test advances it, so that a pause of the machine cannot affect the result."""

    def monotonic(self) -> float:
        return (super().monotonic() if self.stands_at is None else self.stands_at) + self.seconds


class Simulated:
    """A source whose queries take the given time on the shard's clock, without waiting."""

    def __init__(self, shard: "Shard", monkeypatch: pytest.MonkeyPatch) -> None:
        self.asked: list[str] = []
        self.cost: Callable[[Sequence[str]], float] = lambda _: 0.001
        """Return the seconds that a query for these groups takes. Without groups, the whole answer."""
        self._shard = shard
        shard.clock.stands_at = shard.clock.monotonic()
        self._lock = threading.Lock()
        monkeypatch.setattr(Prometheus, "exchange", lambda _, *given, **how: self._exchange(*given, **how))

    def _exchange(
        self, expr: str, at: datetime, deadline: float, seconds: float, *, heavy: bool = False
    ) -> Exchange[QueryResult]:
        found = _ASKED.search(expr)
        groups = found[1].split("|") if found else []
        with self._lock:
            self.asked.append(expr)
            took, left = self.cost(groups), min(seconds, deadline - self._shard.clock.monotonic())
            self._shard.clock.seconds += max(0, min(took, left))
        if took > left:
            return Exchange(QueryFailure(f"did not answer within {left:.3g} s", outcome=Outcome.LATE), left)
        points = [Point({"group": name}, float(name[1:])) for name in groups or self._shard.names]
        return Exchange(QueryResult(ResultType.VECTOR, tuple(points)), took)

    def taken(self) -> list[str]:
        """Return the queries since the last call."""
        asked, self.asked = self.asked, []
        return asked

    def heavy(self, *groups: str) -> None:
        """Make queries with one of these groups take ten seconds from now on."""
        self.cost = lambda asked: 10.0 if set(groups) & set(asked or groups) else 0.001


class Shard:
    """An observer of some autoscalers over a scripted server."""

    def __init__(
        self,
        server: HasUrl,
        scalers: Sequence[Autoscaler],
        gates: Gates | None = None,
        queries: Queries | None = None,
        **source: Any,
    ) -> None:
        self.scalers = tuple(scalers)
        self.names = [each.name for each in self.scalers]
        self.log = RecordingLogger()
        self.queries = queries or Queries()
        self.queries.follow(self.scalers)
        self.gates = gates
        self.sources = {"default": PrometheusSource(server.url, **source)}
        self.clock = Ahead()
        adapter = FakeAdapter({each.target: state() for each in self.scalers})
        self.connections = {"fleet": Connection("fleet", adapter, self.clock, self.log)}

    def look(self, **how: Any) -> Mapping[str, Observation]:
        """Return the observations of one cycle."""
        return self.observe(**how).observations

    def observe(self, **how: Any) -> Observed:
        """Run one cycle with a new observer, as after a reload. It has two minutes, unless `seconds` are given."""
        observer = Observer(
            self.sources, self.connections, self.clock, self.log, queries=self.queries, gates=self.gates
        )
        cycle = call(**{"seconds": 120.0} | how)
        left = cycle.deadline - SystemClock().monotonic()
        try:
            return observer.observe(self.scalers, replace(cycle, deadline=self.clock.monotonic() + left))
        finally:
            observer.close()

    def values(self, **how: Any) -> dict[str, int | str]:
        """Return each reading in thousandths, or the error's text."""
        found = {}
        for name, seen in self.look(**how).items():
            (reading,) = seen.readings
            values = getattr(reading, "values", None)
            found[name] = values[0] if values else str(reading)
        return found


def simulated(monkeypatch: pytest.MonkeyPatch, count: int, **source: Any) -> tuple[Shard, Simulated]:
    """Run a fleet over a source that answers one query after another, with simulated time."""
    shard = Shard(Scripted(), fleet(count), concurrency=1, **source)
    return shard, Simulated(shard, monkeypatch)


def well(count: int, *but: str) -> dict[str, int]:
    """Return the expected reading of each autoscaler."""
    return {f"g{number}": 1000 * number for number in range(count) if f"g{number}" not in but}
