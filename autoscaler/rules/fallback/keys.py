"""The keys of a fallback in the file, what they come to, and what is shown of it."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Self

from pydantic import ValidationInfo, field_validator, model_validator

from autoscaler.document import Document, QueryDocument, Seconds
from autoscaler.fields.queries import InstanceQuery, SharedQuery, TotalQuery
from autoscaler.fields.queries import Query as QueryKeys
from autoscaler.fields.types import Count, Flag, Section
from autoscaler.model import Query
from autoscaler.quantity import format_duration
from autoscaler.rules.shown import Line, ShownMetric
from autoscaler.text import count

if TYPE_CHECKING:
    from autoscaler.rules.fallback import Fallbacks


@dataclass(frozen=True, slots=True)
class MetricFallback:
    """What stands in for a metric that has had no value for long. Exactly one of `replicas` and `query` is given.

    Source: Kubernetes' KEP-5679, ExternalMetricFallback. `query` and `allow_scale_in` are ours, and so is a fallback of
    any type of metric.
    """

    failure_duration: timedelta = timedelta(seconds=180)
    """How long the metric must have been without a value, from the first cycle without one."""
    replicas: int | None = None
    """What the metric then proposes; at least 1."""
    query: Query | None = None
    """Where its value then comes from; its samples are used as the metric's own are."""
    allow_scale_in: bool = False
    """Whether the proposal may be below the current size."""


class FallbackKeys(Section):
    """Replaces a metric that has had no value for some time: a number of replicas, or another query."""

    failure_duration_seconds: Count = 180
    """How long the metric must have had no value."""
    replicas: Count | None = None
    """The size that the metric then proposes."""
    query: QueryKeys | None = None
    """The query that then provides the value, instead of replicas."""
    allow_scale_in: Flag = False
    """Whether the fallback may propose less than the current size."""

    @field_validator("query")
    @classmethod
    def _not_both(cls, query: QueryKeys | None, info: ValidationInfo) -> QueryKeys | None:
        if query is not None and info.data.get("replicas") is not None:
            raise ValueError("replicas and query are both given; remove one of them")
        return query

    @model_validator(mode="after")
    def _one_of_two(self) -> Self:
        if self.replicas is None and self.query is None:
            raise ValueError("neither replicas nor query is given; add one of them")
        return self

    def spec(self, shared: Mapping[str, SharedQuery]) -> MetricFallback:
        """Return the frozen fallback."""
        return MetricFallback(
            timedelta(seconds=self.failure_duration_seconds),
            self.replicas,
            None if self.query is None else self.query.spec(shared),
            self.allow_scale_in,
        )


class InstanceFallback(FallbackKeys):
    """The fallback of a metric with a sample for each instance."""

    query: InstanceQuery | None = None
    """One sample for each instance, instead of replicas; matched with instances like the metric."""


class TotalFallback(FallbackKeys):
    """The fallback of a metric whose samples belong to no instance."""

    query: TotalQuery | None = None
    """The query that then provides the value, instead of replicas."""


class InstanceMetricKeys(Section):
    """The key of a metric with a sample for each instance."""

    fallback: InstanceFallback | None = None
    """The replacement for a metric without a value. Default: none."""


class TotalMetricKeys(Section):
    """The key of a metric whose samples belong to no instance."""

    fallback: TotalFallback | None = None
    """The replacement for a metric without a value. Default: none."""


class FallbackDocument(Document):
    """The replacement for a metric that has had no value for some time."""

    failure_duration_seconds: Seconds
    replicas: int | None
    """null: a query has the value."""
    query: QueryDocument | None
    allow_scale_in: bool


class ShownFallback(ShownMetric):
    """What stands in for a metric."""

    fallback: FallbackDocument | None = None
    """null: without a value the metric proposes no size."""

    @classmethod
    def of_metric(cls, rule: "Fallbacks", place: int, document: Callable[[Query], QueryDocument]) -> "ShownFallback":
        """Return the metric's fallback."""
        own = rule.of[place]
        if own is None:
            return cls()
        query = None if own.query is None else document(own.query)
        return cls(fallback=FallbackDocument.of(own, failure_duration_seconds=own.failure_duration, query=query))

    def as_lines(self) -> Iterable[Line]:
        """Yield when it begins, and what it proposes."""
        own = self.fallback
        if own is None:
            return
        begins = f"after {format_duration(own.failure_duration_seconds)} without a value"
        text = f"{begins}: {count(own.replicas or 0, 'replica')}" if own.query is None else begins
        yield Line("fallback", text, own.query, "" if own.allow_scale_in else "not below the current size")
