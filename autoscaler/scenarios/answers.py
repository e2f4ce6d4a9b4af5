"""What a scenario answers to queries, in place of Prometheus."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final, TypeAlias

from autoscaler.clock import Clock
from autoscaler.config.settings import PrometheusSource
from autoscaler.model import MetricSpec, Query, TargetType
from autoscaler.observe.failure import QueryFailure
from autoscaler.observe.freshness import ServerTime
from autoscaler.observe.gate import Gate
from autoscaler.observe.plan import Question
from autoscaler.observe.prometheus import Exchange, Prometheus
from autoscaler.observe.result import Point, QueryResult, ResultType
from autoscaler.scenarios.clock import VirtualClock
from autoscaler.scenarios.file import Labels, Signal
from autoscaler.scenarios.instances import Group
from autoscaler.scenarios.notation import Values

Evaluate: TypeAlias = Callable[[Question, timedelta], QueryResult | QueryFailure]
"""Returns the answer to a query, at a time after the start."""


class Spread(StrEnum):
    """How values become samples."""

    WHOLE = "whole"
    """One sample."""
    EACH = "each"
    """A sample for each ready instance, each with the value."""
    SHARE = "share"
    """A sample for each ready instance, each with its share of the value."""
    RATIO = "ratio"
    """One sample: the value, divided by the ready instances."""


@dataclass(frozen=True, slots=True)
class Answer:
    """The samples that one user of a query finds in its answer."""

    values: Signal
    spread: Spread = Spread.WHOLE
    labels: Labels = ()
    """That its samples carry."""
    label: str = ""
    """That names an instance."""
    group: Group | None = None
    """Whose instances; None: the samples are of none."""

    @classmethod
    def of(cls, values: Signal, spec: MetricSpec, query: Query, group: Group, *, is_load: bool = False) -> "Answer":
        """Return the samples of a query of this metric."""
        if not isinstance(values, Values):
            return cls(values)
        labels = dict(query.match)
        if not spec.type.per_instance:
            is_ratio = is_load and spec.target.type is TargetType.VALUE
            return cls(values, Spread.RATIO if is_ratio else Spread.WHOLE, tuple(labels.items()), group=group)
        label = query.instance_label or "instance"
        if spec.container is not None:
            labels[spec.container_label or "container"] = spec.container
        return cls(values, Spread.SHARE if is_load else Spread.EACH, tuple(labels.items()), label, group)

    def overlaps(self, other: "Answer") -> bool:
        """Return whether both have samples of the same series."""
        mine, its = ((each.labels, each.label, each.label and each.group) for each in (self, other))
        return mine == its

    def points(self, index: int, now: timedelta) -> Iterator[Point]:
        """Yield the samples."""
        if not isinstance(self.values, Values):
            for labels, values in self.values.items():
                value = values(index)
                if value is not None:
                    yield Point(dict(labels), value)
            return
        value = self.values(index)
        if value is None:
            return
        ready = () if self.group is None else self.group.ready(now)
        if self.spread in (Spread.WHOLE, Spread.RATIO):
            yield Point(dict(self.labels), value / max(1, len(ready)) if self.spread is Spread.RATIO else value)
            return
        for name in ready:
            share = value / len(ready) if self.spread is Spread.SHARE else value
            yield Point({**dict(self.labels), self.label: name}, share)


class Answers:
    """All answers of a scenario, and the outages of its sources."""

    def __init__(
        self,
        answers: Mapping[Question, Sequence[Answer]],
        interval: timedelta,
        clock: VirtualClock,
        evaluate: Evaluate | None,
    ) -> None:
        """`interval`: from one of the values to the next. `evaluate`: answers every query, in place of `answers`."""
        self.silent_until: Final = dict[str, timedelta]()
        """Source -> until when it does not answer."""
        self._answers: Final = answers
        self._interval: Final = interval
        self._clock: Final = clock
        self._evaluate: Final = evaluate

    def server_time(self) -> ServerTime:
        """Return the time of the sources, which setting the daemon's clock does not move."""
        return ServerTime(self._clock.true_time(), self._clock.monotonic())

    def ask(self, asked: Question) -> QueryResult | QueryFailure:
        """Return the samples of a query now."""
        now = self._clock.elapsed
        if now < self.silent_until.get(asked.prometheus, timedelta(0)):
            return QueryFailure(f"prometheus {asked.prometheus!r} does not answer: the test has an outage now")
        if self._evaluate is not None:
            return self._evaluate(asked, now)
        taken = asked.expr.removeprefix("timestamp(").removesuffix("\n)")
        is_age = taken != asked.expr and asked not in self._answers
        index = now // self._interval
        found = self._answers.get(Question(asked.prometheus, taken) if is_age else asked, ())
        points = [point for answer in found for point in answer.points(index, now)]
        if is_age:
            points = [Point(point.labels, self._clock.now().timestamp()) for point in points]
        return QueryResult(ResultType.VECTOR, tuple(points))


class ScriptedPrometheus(Prometheus):
    """A source whose answers are in the scenario."""

    def __init__(self, answers: Answers, name: str, source: PrometheusSource, clock: Clock, gate: Gate) -> None:
        super().__init__(name, source, clock, gate)
        self._source_name: Final = name
        self._answers: Final = answers

    def exchange(  # the base's signature
        self,
        expr: str,
        at: datetime,  # noqa: ARG002
        deadline: float,  # noqa: ARG002
        seconds: float,  # noqa: ARG002
        *,
        heavy: bool = False,  # noqa: ARG002
    ) -> Exchange[QueryResult]:
        """Return the scenario's answer. It takes no time."""
        answer = self._answers.ask(Question(self._source_name, expr))
        if not isinstance(answer, QueryFailure):
            self.server_time = self._answers.server_time()
        return Exchange(answer, 0.0)
