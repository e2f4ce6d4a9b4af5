"""Which questions a batch of autoscalers asks, each once."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

from autoscaler.model import Autoscaler, MetricSpec, Query, TargetType


class Question(NamedTuple):
    """One expression for one Prometheus."""

    prometheus: str
    expr: str


def question(query: Query) -> Question:
    """What is asked for its values."""
    return Question(query.prometheus, query.expr)


def age_question(query: Query) -> Question:
    """What is asked for the time of each of those values: an instant answer carries the time of evaluation.

    The line break ends a comment that the expression may end with.
    """
    return Question(query.prometheus, f"timestamp({query.expr}\n)")


def questions(scalers: Sequence[Autoscaler]) -> Sequence[Question]:
    """Every distinct question, in the order in which the autoscalers first need it."""
    return tuple(dict.fromkeys([asked for scaler in scalers for asked in questions_of(scaler)]))


def questions_of(scaler: Autoscaler) -> Sequence[Question]:
    """Every distinct question of one autoscaler."""
    found: dict[Question, None] = {}
    for query in queries_of(scaler):
        found[question(query)] = None
        if query.max_age is not None:
            found[age_question(query)] = None
    return tuple(found)


def request_query(metric: MetricSpec) -> Query | None:
    """Where the capacity comes from when a query says it and the target is a Utilization, which alone needs it."""
    if metric.target.type is TargetType.UTILIZATION and isinstance(metric.request, Query):
        return metric.request
    return None


def queries_of(scaler: Autoscaler) -> Iterator[Query]:
    """All that it asks, in the order in which it is needed."""
    for metric in scaler.metrics:
        yield metric.query
        if request := request_query(metric):
            yield request
        if metric.fallback and metric.fallback.query:
            yield metric.fallback.query
    if scaler.victims and scaler.victims.query:
        yield scaler.victims.query


def with_queries(scaler: Autoscaler, change: Callable[[Query], Query]) -> Autoscaler:
    """The same one, with other queries."""
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
