"""Splits the answer to a merged query by question."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from autoscaler.errors import MetricError
from autoscaler.observe.plan import Question
from autoscaler.observe.planner.query import Form, PlannedQuery
from autoscaler.observe.result import Point, QueryResult, ResultType


class Split(NamedTuple):
    """The parts of a query's answer."""

    answers: Mapping[Question, QueryResult]
    """The answer to each question, in the order of the query's answer."""
    unasked: int
    """Samples of unrequested combinations of values. Many of them mean that the merge costs more than it saves."""


def split(query: PlannedQuery, result: QueryResult) -> Split:
    """Return one answer for each question, in time linear in the samples.

    Raises MetricError for samples that the proof excludes, for example if a proxy removes labels.
    """
    if query.form is None:
        return Split(dict.fromkeys(query.questions, result), 0)
    if result.type is not ResultType.VECTOR:
        raise MetricError(f"the answer to a merged query is a {result.type}, not a vector")
    owners, fallback, unasked = _by_owner(query, query.form, result)
    answers: dict[Question, QueryResult] = {}
    for questions, points in owners:
        answer = QueryResult(result.type, tuple(points or fallback))
        answers.update(dict.fromkeys(questions, answer))
    return Split(answers, unasked)


def _by_owner(
    query: PlannedQuery, form: Form, result: QueryResult
) -> tuple[list[tuple[tuple[Question, ...], list[Point]]], list[Point], int]:
    """Return each member's samples without added labels, the fallback's samples, and the number of unrequested ones."""
    names, added = form.labels, form.added
    one = names[0] if len(names) == 1 else None  # the usual case, which avoids a tuple per sample
    found: dict[Any, list[Point]] = {key[0] if one else key: [] for key in query.members}
    asked = [set(column) for column in zip(*query.members, strict=True)]
    fallback: list[Point] = []
    unasked = 0
    for point in result.points:
        labels = point.labels
        mine = found.get(labels.get(one, "") if one else tuple([labels.get(name, "") for name in names]))
        if mine is not None:
            if added:
                left = dict(labels)
                for name in added:
                    del left[name]
                point = Point(left, point.value)  # noqa: PLW2901 - the member's own copy
            mine.append(point)
            continue
        values = [labels.get(name, "") for name in names]
        if form.fallback and not any(values):
            fallback.append(point)
        elif all(value in wanted for value, wanted in zip(values, asked, strict=True)):
            unasked += 1
        else:
            raise MetricError(
                f"the answer to a merged query has {point}, with an unexpected {' and '.join(names)}; "
                "check whether a proxy changes labels, or set mergeQueries: false"
            )
    return list(zip(query.members.values(), found.values(), strict=True)), fallback, unasked
