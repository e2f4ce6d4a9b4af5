"""The distinct questions of a batch of autoscalers."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

from autoscaler.model import Autoscaler, MetricSpec, Query, TargetType


class Question(NamedTuple):
    """One expression for one Prometheus."""

    prometheus: str
    expr: str


def question(query: Query) -> Question:
    """Return the question for a query's values."""
    return Question(query.prometheus, query.expr)


def age_question(query: Query) -> Question:
    """Return the question for the times of those values. An instant answer itself carries the time of evaluation.

    The line break ends a comment at the end of the expression.
    """
    return Question(query.prometheus, f"timestamp({query.expr}\n)")


def questions(scalers: Sequence[Autoscaler]) -> Sequence[Question]:
    """Return every distinct question, in the order of first use."""
    return tuple(dict.fromkeys([asked for scaler in scalers for asked in questions_of(scaler)]))


def questions_of(scaler: Autoscaler) -> Sequence[Question]:
    """Return every distinct question of one autoscaler."""
    found: dict[Question, None] = {}
    for query in queries_of(scaler):
        found[question(query)] = None
        if query.max_age is not None:
            found[age_question(query)] = None
    return tuple(found)


def request_query(metric: MetricSpec) -> Query | None:
    """Return the query for the capacity, if a query provides it and the target is a Utilization."""
    if metric.target.type is TargetType.UTILIZATION and isinstance(metric.request, Query):
        return metric.request
    return None


def queries_of(scaler: Autoscaler) -> Iterator[Query]:
    """Yield the autoscaler's queries in the order of use."""
    for metric in scaler.metrics:
        yield metric.query
        if request := request_query(metric):
            yield request
        if metric.fallback and metric.fallback.query:
            yield metric.fallback.query
    if scaler.victims and scaler.victims.query:
        yield scaler.victims.query


def with_queries(scaler: Autoscaler, change: Callable[[Query], Query]) -> Autoscaler:
    """Return the autoscaler with its queries changed."""
    metrics = []
    for metric in scaler.metrics:
        request = change(metric.request) if isinstance(metric.request, Query) else metric.request
        fallback = metric.fallback
        if fallback and fallback.query:
            fallback = replace(fallback, query=change(fallback.query))
        metrics.append(replace(metric, query=change(metric.query), request=request, fallback=fallback))
    victims = scaler.victims
    if victims and victims.query:
        victims = replace(victims, query=change(victims.query))
    return replace(scaler, metrics=tuple(metrics), victims=victims)
