"""The answer to a merged query, as the answers to its questions."""

from collections.abc import Mapping
from typing import NamedTuple

from autoscaler.errors import MetricError
from autoscaler.observe.plan import Question
from autoscaler.observe.planner.query import Form, Key, PlannedQuery
from autoscaler.observe.result import Point, QueryResult, ResultType


class Split(NamedTuple):
    """What a query's answer comes to."""

    answers: Mapping[Question, QueryResult]
    """For each of its questions, in the order of the answer."""
    unasked: int
    """Samples of combinations of values that nobody asked for. Many of them: the merge costs more than it saves."""


def split(query: PlannedQuery, result: QueryResult) -> Split:
    """One answer for each question. Linear in the samples.

    Raises MetricError for samples that no proof foresees: a proxy that takes labels away, for one.
    """
    if query.form is None:
        return Split(dict.fromkeys(query.questions, result), 0)
    if result.type is not ResultType.VECTOR:
        raise MetricError(f"the answer to a merged query is a {result.type}, not a vector")
    found, fallback, unasked = _by_key(query, query.form, result)
    answers: dict[Question, QueryResult] = {}
    for key, questions in query.members.items():
        answer = QueryResult(result.type, tuple(found[key] or fallback))
        answers.update(dict.fromkeys(questions, answer))
    return Split(answers, unasked)


def _by_key(query: PlannedQuery, form: Form, result: QueryResult) -> tuple[Mapping[Key, list[Point]], list[Point], int]:
    """Each member's samples, without the labels that were added; the sample for who has none; how many are nobody's."""
    found: dict[Key, list[Point]] = {key: [] for key in query.members}
    fallback: list[Point] = []
    unasked = 0
    names, added = form.labels, form.added
    asked = [set(column) for column in zip(*query.members, strict=True)]
    for point in result.points:
        labels = point.labels
        key = tuple([labels.get(name, "") for name in names])
        mine = found.get(key)
        if mine is not None:
            mine.append(
                Point({name: labels[name] for name in labels if name not in added}, point.value) if added else point
            )
        elif form.fallback and not any(key):
            fallback.append(point)
        elif all(value in values for value, values in zip(key, asked, strict=True)):
            unasked += 1
        else:
            raise MetricError(
                f"the answer to a merged query has {point}, whose {' and '.join(names)} nobody asked for; "
                "does something between here and Prometheus change labels?"
            )
    return found, fallback, unasked
