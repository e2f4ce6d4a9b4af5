"""The distinct questions of a batch of autoscalers."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import NamedTuple

from autoscaler.model import Autoscaler, Query, Rules


class Question(NamedTuple):
    """One expression for one Prometheus."""

    prometheus: str
    expr: str


def question(query: Query) -> Question:
    """Return the question whose answer has a query's values."""
    return Question(query.prometheus, query.expr)


def age_question(query: Query) -> Question:
    """Return the question whose answer has the times of a query's samples.

    The answer to the query itself has the time of its evaluation instead.

    The line break ends a comment at the end of the expression.
    """
    return Question(query.prometheus, f"timestamp({query.expr}\n)")


def questions(scalers: Sequence[Autoscaler]) -> Sequence[Question]:
    """Return every distinct question, in the order of first use."""
    return tuple(dict.fromkeys([asked for scaler in scalers for asked in questions_of(scaler)]))


def questions_of(scaler: Autoscaler) -> Sequence[Question]:
    """Return every distinct question of one autoscaler."""
    found: dict[Question, None] = {}
    for query in scaler.queries:
        found[question(query)] = None
        if query.max_age is not None:
            found[age_question(query)] = None
    return tuple(found)


def with_queries(scaler: Autoscaler, change: Callable[[Query], Query]) -> Autoscaler:
    """Return the autoscaler with its queries changed."""
    metrics = []
    for metric in scaler.metrics:
        request = change(metric.request) if isinstance(metric.request, Query) else metric.request
        metrics.append(replace(metric, query=change(metric.query), request=request))
    victims = scaler.victims
    if victims and victims.query:
        victims = replace(victims, query=change(victims.query))
    rules = Rules([rule.with_queries(change) for rule in scaler.rules])
    return replace(scaler, metrics=tuple(metrics), victims=victims, rules=rules)
