"""A shared answer is indexed once, however many autoscalers use it."""

from collections.abc import Iterator, Mapping
from datetime import timedelta

import pytest

from autoscaler.errors import MetricError
from autoscaler.model import Query
from autoscaler.observe.answers import Answers
from autoscaler.observe.failure import QueryFailure
from autoscaler.observe.plan import Question, age_question, question
from autoscaler.observe.result import Point, QueryResult, ResultType
from tests.observe.build import answers, point, vector


def of(asg: str, **more: str) -> Query:
    return Query("q", match=tuple(sorted({"asg": asg, **more}.items())))


def test_a_query_with_match_sees_only_its_own_series() -> None:
    """Many autoscalers use their own parts of one shared query."""
    mine, other = point(1, asg="web", zone="a"), point(2, asg="web", zone="b")
    given = Answers(answers(vector(mine, other, point(3))))
    assert given.points(of("web", zone="a")) == [mine]
    assert given.points(of("web")) == [mine, other]
    assert not given.points(of("api"))


@pytest.mark.parametrize("kind", ["points", "times"])
def test_each_sample_is_visited_once_however_many_autoscalers_use_it(kind: str) -> None:
    """Scanning the whole answer for each autoscaler had quadratic cost."""
    visited = 0

    class Counting(dict[str, str]):
        def get(self, *given: str) -> str | None:  # type: ignore[override] # as much of it as is called
            nonlocal visited
            visited += 1
            return super().get(*given)

        def items(self) -> Iterator[tuple[str, str]]:  # type: ignore[override] # as above
            nonlocal visited
            visited += 1
            yield from super().items()

    fleet = [Query("q", match=(("asg", f"asg-{number}"),), max_age=timedelta(minutes=1)) for number in range(300)]
    samples = [Point(Counting(asg=f"asg-{number}"), 1.0) for number in range(300)]
    result = QueryResult(ResultType.VECTOR, tuple(samples))
    results: Mapping[Question, QueryResult] = {question(fleet[0]): result, age_question(fleet[0]): result}
    given = Answers(results)
    for query in fleet:
        assert len(given.points(query)) == 1 if kind == "points" else len(given.times(query)) == 300
    assert visited == 300


def test_each_user_gets_its_own_error_of_a_failed_question() -> None:
    """An error that is raised twice keeps the frames of the first raise, and everything in them."""
    given = Answers(answers(QueryFailure("down")))
    with pytest.raises(MetricError, match="down") as first:
        given.points(of("web"))
    with pytest.raises(MetricError, match="down") as second:
        given.points(of("api"))
    assert first.value is not second.value
