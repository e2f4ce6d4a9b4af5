"""Splitting a merged answer."""

import pytest

from autoscaler.errors import MetricError
from autoscaler.observe.planner.split import split
from autoscaler.observe.result import QueryResult, ResultType
from tests.observe.build import point, vector
from tests.observe.planner.build import ask, each, only, plan, samples


def answers(template: str, result: QueryResult, *values: str) -> list[list[tuple[object, float | None]]]:
    questions = each(template, *(values or ("api", "web")))
    found = split(only(plan(questions)), result)
    return [list(samples(found[question])) for question in questions]


def test_each_member_gets_its_samples_in_their_order() -> None:
    result = vector(point(1.0, g="web", i="b"), point(2.0, g="api", i="a"), point(3.0, g="web", i="a"))
    assert answers("a{g=$}", result) == [
        [({"g": "api", "i": "a"}, 2.0)],
        [({"g": "web", "i": "b"}, 1.0), ({"g": "web", "i": "a"}, 3.0)],
    ]


def test_a_label_added_by_the_merge_is_removed() -> None:
    result = vector(point(1.0, g="web", i="a"), point(2.0, g="api", i="a"))
    assert answers("sum by (i) (a{g=$})", result) == [[({"i": "a"}, 2.0)], [({"i": "a"}, 1.0)]]


@pytest.mark.parametrize(
    "template",
    [
        "sum by (g) (sum(a{g=$}))",
        "sum without (i) (sum(a{g=$}))",
        "a{g=$} / on(i) b{g=$}",
        "a{g=$} / ignoring(g) b{g=$}",
        "sum(a{g=$}) * on(i) group_left() b{g=$}",
        "sum(a{g=$}) unless on(i) b{g=$}",
        "max_over_time(sum(a{g=$})[5m:1m])",
    ],
)
def test_a_label_absent_as_written_is_removed(template: str) -> None:
    """Also if a part of the expression has it."""
    assert answers(template, vector(point(1.0, g="web"))) == [[], [({}, 1.0)]]


@pytest.mark.parametrize(
    "template",
    [
        "sum by (g) (a{g=$})",
        "sum without (i) (a{g=$})",
        "a{g=$} / on(g) b{g=$}",
        "a{g=$} / ignoring(g) group_left() sum(b{g=$})",
        "a{g=$} and on(i) sum(b{g=$})",
        "rate(a{g=$}[5m])",
    ],
)
def test_a_label_present_as_written_stays(template: str) -> None:
    assert answers(template, vector(point(1.0, g="web"))) == [[], [({"g": "web"}, 1.0)]]


def test_splitting_does_not_change_the_answer() -> None:
    """Other users may hold the same labels."""
    result = vector(point(1.0, g="web"))
    answers("sum(a{g=$})", result)
    assert samples(result) == [({"g": "web"}, 1.0)]


def test_a_member_missing_in_the_answer_has_no_samples() -> None:
    """Not even a count of 0."""
    assert answers("count(a{g=$})", vector(point(3.0, g="web"))) == [[], [({}, 3.0)]]


def test_a_histogram_goes_to_its_member() -> None:
    assert answers("a{g=$}", vector(point(None, g="web"))) == [[], [({"g": "web"}, None)]]


def test_a_default_number_goes_to_members_without_samples() -> None:
    result = vector(point(3.0, g="web"), point(0.0))
    assert answers("sum(a{g=$}) or vector(0)", result) == [[({}, 0.0)], [({}, 3.0)]]


def test_two_spellings_get_the_same_answer() -> None:
    one, two = ask("a{g='x'}"), ask('a{g="x"}')
    found = split(only(plan([one, two, ask('a{g="y"}')])), vector(point(1.0, g="x")))
    assert found[one] == found[two] == vector(point(1.0, g="x"))


def test_a_query_as_written_keeps_its_answer() -> None:
    scalar = QueryResult(ResultType.SCALAR, (point(4.0),))
    assert split(only(plan([ask("2 + 2")])), scalar) == {ask("2 + 2"): scalar}


def test_samples_of_unrequested_combinations_are_left_out() -> None:
    questions = [ask('a{j="1",g="x"}'), ask('a{j="2",g="y"}')]
    result = vector(point(1.0, j="1", g="x"), point(2.0, j="1", g="y"), point(3.0, j="2", g="y"))
    found = split(only(plan(questions)), result)
    assert list(samples(found[questions[0]])) == [({"j": "1", "g": "x"}, 1.0)]


@pytest.mark.parametrize("labels", [{}, {"g": ""}, {"g": "db"}])
def test_a_sample_of_an_unrequested_value_is_an_error(labels: dict[str, str]) -> None:
    """Otherwise a proxy that drops a label would turn load into "no samples"."""
    with pytest.raises(MetricError, match="with an unexpected g"):
        answers("a{g=$}", vector(point(1.0, g="web"), point(2.0, **labels)))


def test_an_answer_of_another_type_is_an_error() -> None:
    with pytest.raises(MetricError, match="is a scalar, not a vector"):
        answers("a{g=$}", QueryResult(ResultType.SCALAR, (point(4.0),)))


def test_a_label_named_like_a_bucket_is_a_normal_label() -> None:
    assert answers("sum(a{le=$})", vector(point(1.0, le="+Inf")), "0.1", "+Inf") == [[], [({}, 1.0)]]
