"""Queries that are asked as written, and the reason shown."""

import pytest

from autoscaler.observe.planner.merge import Limits
from tests.observe.planner.build import ask, each, merged, only, plan, reason


@pytest.mark.parametrize(
    ("template", "expected"),
    [
        ("absent(a{g=$})", "absent() is not one of the functions that can be merged"),
        ("absent_over_time(a{g=$}[5m])", "absent_over_time() is not one of the functions that can be merged"),
        ("scalar(a{g=$})", "scalar() is not one of the functions that can be merged"),
        ("sort(a{g=$})", "sort() is not one of the functions that can be merged"),
        ("topk(3, a{g=$})", "topk() is not one of the aggregations that can be merged"),
        ('count_values("v", a{g=$})', "count_values() is not one of the aggregations that can be merged"),
        ("clamp_min(a, scalar(b{g=$}))", "scalar() is not one of the functions that can be merged"),
        ("a{g=$} / b", "one side of `/` is the same for all"),
        ('a{g=$} / on() b{g="total"}', "one side of `/` is the same for all"),
        ("a{g=$} / sum(b{g=$})", "only one side of `/` has g"),
        ("a{g=$} or sum(b{g=$})", "only one side of `or` has g"),
        ("a{g=$} or ignoring(g) sum(b{g=$})", "only one side of `or` has g"),
        ("a{g=$} / on(g) sum(b{g=$})", "only one side of `/` has g"),
        ("a{g=$} / on(h) b{h=$}", "the sides of `/` differ in different labels"),
        ("a{g=$} * on(i) group_left(g) b{g=$}", "the grouping of `*` takes over a label in which they differ"),
        ("a{g=$} + fill_left(0) b{g=$}", "fill modifiers are not known here"),
        ("a{g=$} + fill_right(0) b{g=$}", "fill modifiers are not known here"),
        ("a{g=$} * scalar(b + fill_left(0) c)", "fill modifiers are not known here"),
        ("histogram_quantile(0.9, a{le=$})", "histogram_quantile() looks at all values of le, in which they differ"),
        ('label_replace(a{g=$}, "g", "x", "i", "(.*)")', "label_replace() sets g, in which they differ"),
        ('label_replace(sum(a{g=$}), "h", "x", "g", "(.*)")', "label_replace() reads a label that is not there"),
        ('label_join(sum(a{g=$}), "h", "-", "i", "g")', "label_join() reads a label that is not there"),
        ("{__name__=$}", "they differ in the name of the metric"),
        ("sum by (i) (a{g=$}) or vector(0)", "`or vector(…)` stands beside samples with labels"),
        ("a{g=$} or vector(0)", "`or vector(…)` stands beside samples with labels"),
        ("vector(0) or sum(a{g=$})", "one side of `or` is the same for all"),
        ("sum(sum(a{g=$}) or vector(0))", "`or vector(…)` stands inside of sum()"),
        ("max_over_time((sum(a{g=$}) or vector(0))[5m:1m])", "`or vector(…)` stands inside of a subquery"),
        ("(sum(a{g=$}) or vector(0)) / sum(b{g=$})", "`or vector(…)` stands inside of `/`"),
        ("(sum(a{g=$}) or vector(0)) < 5", "`<` may leave nothing of a sample that stands before `or vector(…)`"),
        ("a{g=$,'h'='x'}", "it has a label in quotes, or a comment inside of a matcher"),
        ("a{g=$,h # one\n='x'}", "it has a label in quotes, or a comment inside of a matcher"),
        ("a{g=$", "its syntax is not known here"),
        ("a{g=$}" + "+1" * 900, "it nests too deeply"),
        ("+".join(["a{g=$}"] * 1100), "it has more than 2000 characters outside of its matchers"),
    ],
)
def test_an_unproven_shape_is_asked_as_written(template: str, expected: str) -> None:
    assert reason(template) == expected


@pytest.mark.parametrize("text", [r'a{g="\x41"}', r'a{g="\n"}', "a{g=`\n`}", 'a{g="\ufffd"}', r"a{g='\"'}"])
def test_a_question_with_an_unparsed_value_is_asked_as_written(text: str) -> None:
    queries = plan([ask(text), *each("a{g=$}", "x", "y")])
    assert [(query.expr, query.reason) for query in queries] == [
        (text, "a value in it has a control character or an escape other than of a quote or a backslash"),
        ('a{g=~"x|y"}', ""),
    ]


@pytest.mark.parametrize("text", ["a", 'a{g=~"x"}', 'sum by (g) (a{h!="x"})', '"g" # g="x"'])
def test_an_expression_without_equality_matchers_is_asked_as_written(text: str) -> None:
    assert only(plan([ask(text)])).reason == "it has no equality matcher"


def test_an_empty_value_is_asked_alone() -> None:
    """It finds series without the label, which an alternation could not separate."""
    queries = plan(each("a{g=$}", "x", "", "y"))
    assert [query.expr for query in queries] == ['a{g=""}', 'a{g=~"x|y"}']
    assert queries[0].reason == "its value is empty, which means series without the label"


def test_an_empty_value_common_to_all_does_not_prevent_merging() -> None:
    assert merged('a{container="",g=$}') == 'a{container="",g=~"api|web"}'


def test_a_single_question_of_a_shape_is_asked_as_written() -> None:
    queries = plan([ask('a{g="x"}'), ask('b{g="x"}')])
    assert [query.expr for query in queries] == ['a{g="x"}', 'b{g="x"}']
    assert {query.reason for query in queries} == {"no other question has the same form"}


def test_a_query_that_would_be_too_long_is_asked_as_written() -> None:
    query, long = plan(each("a{g=$}", "x", "y", "z" * 100), Limits(text_bytes=50))
    assert (query.expr, long.reason) == ('a{g=~"x|y"}', "merged, it would be too long")


def test_two_queries_that_would_be_too_long_together_are_asked_as_written() -> None:
    queries = plan(each("a{g=$}", "x", "y"), Limits(text_bytes=5))
    assert [query.reason for query in queries] == ["merged, it would be too long"] * 2
