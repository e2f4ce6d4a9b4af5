"""Splits the answer to a merged query by question."""

from collections.abc import Mapping
from typing import Any

from autoscaler.errors import MetricError
from autoscaler.observe.plan import Question
from autoscaler.observe.planner.query import Form, PlannedQuery
from autoscaler.observe.result import Point, QueryResult, ResultType


def split(query: PlannedQuery, result: QueryResult) -> Mapping[Question, QueryResult]:
    """Return one answer for each question, in time linear in the samples. Each keeps the order of the whole answer.

    Raises MetricError for samples that the proof excludes, for example if a proxy removes labels.
    """
    if query.form is None:
        return dict.fromkeys(query.questions, result)
    if result.type is not ResultType.VECTOR:
        raise MetricError(f"the answer to a merged query is a {result.type}, not a vector")
    owners, fallback = _by_owner(query, query.form, result)
    answers: dict[Question, QueryResult] = {}
    for questions, points in owners:
        answer = QueryResult(result.type, tuple(points or fallback))
        answers.update(dict.fromkeys(questions, answer))
    return answers


def _by_owner(
    query: PlannedQuery, form: Form, result: QueryResult
) -> tuple[list[tuple[tuple[Question, ...], list[Point]]], list[Point]]:
    """Return each member's samples without added labels, and the fallback's samples.

    Samples of combinations of values that no member has are left out.
    """
    names, added = form.labels, form.added
    one = names[0] if len(names) == 1 else None  # the usual case, which avoids a tuple per sample
    found: dict[Any, list[Point]] = {key[0] if one else key: [] for key in query.members}
    asked = [set(column) for column in zip(*query.members, strict=True)]
    fallback: list[Point] = []
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
        elif not all(value in wanted for value, wanted in zip(values, asked, strict=True)):
            raise MetricError(
                f"the answer to a merged query has {point}, with an unexpected {' and '.join(names)}; "
                "check whether a proxy changes labels, or set mergeQueries: false"
            )
    return list(zip(query.members.values(), found.values(), strict=True)), fallback
