"""Values for these tests, with defaults."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from autoscaler.clock import SystemClock
from autoscaler.model import (
    Autoscaler,
    Call,
    Instance,
    MetricSpec,
    MetricTarget,
    MetricType,
    Phase,
    Query,
    Rules,
    TargetRef,
    TargetState,
    TargetType,
)
from autoscaler.observe.failure import QueryFailure
from autoscaler.observe.plan import Question
from autoscaler.observe.result import Point, QueryResult, ResultType
from autoscaler.rules.fallback import Fallbacks
from autoscaler.rules.fallback.keys import MetricFallback
from autoscaler.target import Adapter

NOW: Final = datetime(2025, 6, 1, 12, tzinfo=UTC)
CLOCK: Final = SystemClock()
TARGET: Final = TargetRef("fleet", "web")


def call(seconds: float = 30.0, now: datetime = NOW) -> Call:
    """Return a cycle's call at `now` with this much time."""
    return Call(now, SystemClock().monotonic() + seconds)


def instance(name: str, *identities: str, **fields: Any) -> Instance:
    """Return a running, ready instance."""
    known: dict[str, Any] = {"phase": Phase.RUNNING, "ready": True} | fields
    return Instance(name, identities=frozenset(identities or (name,)), **known)


def state(*instances: Instance) -> TargetState:
    """Return a target with as many replicas as instances."""
    return TargetState(len(instances), len(instances), instances)


def metric(kind: MetricType, query: Query | str, **fields: Any) -> MetricSpec:
    """Return a metric with an average target of 1."""
    known: dict[str, Any] = {"name": "load", "target": MetricTarget(TargetType.AVERAGE_VALUE, 1000)} | fields
    return MetricSpec(kind, query=Query(query) if isinstance(query, str) else query, **known)


def scaler(*metrics: MetricSpec, name: str = "web", target: TargetRef = TARGET, **fields: Any) -> Autoscaler:
    """Return an autoscaler with these metrics."""
    return Autoscaler(name, target, min_replicas=1, max_replicas=10, metrics=metrics, **fields)


def fallbacks(*of: MetricFallback | None) -> Rules:
    """Return rules with a fallback, or None, for each metric."""
    return Rules([Fallbacks(of)])


def point(value: float | None, **labels: str) -> Point:
    """A sample."""
    return Point(labels, value)


def vector(*points: Point) -> QueryResult:
    """An instant vector."""
    return QueryResult(ResultType.VECTOR, points)


def answers(result: QueryResult | QueryFailure, expr: str = "q") -> dict[Question, QueryResult | QueryFailure]:
    """Return the answer to one question of the default source."""
    return {Question("default", expr): result}


@dataclass(slots=True)
class FakeAdapter(Adapter):
    """Returns what it was given, and records what it was asked."""

    states: Mapping[TargetRef, Any]
    calls: list[Sequence[TargetRef]] = field(default_factory=list)

    def observe(self, targets: Sequence[TargetRef], call: Call) -> Mapping[TargetRef, Any]:
        self.calls.append(targets)
        return {target: self.states[target] for target in targets if target in self.states}

    def scale(self, *_: Any) -> Any:
        raise AssertionError("observing must not write")


def ago(seconds: float) -> datetime:
    """Return the time this long before NOW."""
    return NOW - timedelta(seconds=seconds)
