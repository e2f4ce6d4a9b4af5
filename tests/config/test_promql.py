"""What is surely no PromQL is an error with its place; what may be, to a newer Prometheus, is a warning."""

from datetime import timedelta
from typing import Final

import promql_parser as ast
import pytest
from hypothesis import given
from hypothesis import strategies as st

from autoscaler.config.promql import parse
from autoscaler.config.promql_words import AGGREGATIONS, FUNCTIONS, OTHERS, near_function
from autoscaler.observe.planner import narrowing
from tests.config.conftest import Load
from tests.config.test_load import EXTERNAL, HEAD, SCALER, query
from tests.observe.planner.build import ask, plan

NEWER: Final = [
    "rate(up[1m] anchored)",
    "rate(up[1m] smoothed)",
    "increase(up{a='b'}[5m] smoothed)",
    "up offset (1h / 2)",
    "up offset -(1h / 2)",
    "rate(up[1m * 2])",
    "rate(up[step() * 2])",
    "rate(up[5m:1m * 2])",
    "rate(up[max_of(step(), 1m)])",
    "up offset min_of(1m, 2m)",
    "histogram_sum(up </ 0.5)",
    "up >/ 0.5",
    "1_000_000",
    "up > 1_000_000",
    "sum by (smoothed)(up)",
    "sum by (anchored) (rate(up[1m]))",
    "fresh_function(up)",
    'up{a=~"[[]"}',
    'up{a=~"[[:alpha:][]x"}',
]
"""Of Prometheus 3, of one to come, or of Go's regular expressions: promql-parser refuses each."""

WRONG: Final = {
    "": "no expression found in input; write one",
    " \n": "no expression found in input",
    "# nothing": "no expression found in input",
    "sum(x": "unclosed left parenthesis '(' at character 4; close it",
    "rate(x[5m": "unclosed left bracket '[' at character 7",
    'x{a="b"': "unclosed left brace '{' at character 2",
    "sum(x))": "unexpected right parenthesis ')' at character 7",
    "x]": "unexpected right bracket ']' at character 2",
    "sum(x]": "unexpected right bracket ']' at character 6, where '(' at character 4 is still open",
    "rate(x[1m) anchored]": "unexpected right parenthesis ')' at character 10, where '[' at character 7 is still open",
    'x{a="b}': 'unterminated quoted string " at character 5; end it',
    "x{a='b}": "unterminated quoted string ' at character 5",
    "x{a=`b}": "unterminated quoted string ` at character 5",
    'x{a="b\n"}': 'unterminated quoted string " at line 1, character 5',
    "raet(x[5m])": "unknown function with name 'raet' at character 1; did you mean `rate`?",
    "sum(\n  avgovertime(x[1m] anchored))": (
        "unknown function with name 'avgovertime' at line 2, character 3; did you mean `avg_over_time`?"
    ),
    "Rate(x[5m])": "did you mean `rate`?",
    "histogram_quantil(0.9, x)": "did you mean `histogram_quantile`?",
    "rate(x)": "expected type matrix in call to function 'rate', got vector, at 'rate' at character 1",
    "rate(x[1m]) + rate(y)": "got vector, at 'rate' at character 15; correct its arguments",
    "clamp(x, 1)": "expected 3 argument(s) in call to 'clamp', got 2, at 'clamp' at character 1",
    "round(x, 1, 2)": "expected at most 2 argument(s) in call to 'round', got 3",
    "topk(3, topk(x))": "expected 2, got 1, at 'topk' at character 9",
    'sum by (a) (sum("x"))': "expected type vector in aggregation expression, got string, at 'sum' at character 13",
    'x{a="long text that is put aside, all sixty-four characters of it, and then"} + abs()': "at character 81",
    "x # (\n + abs()": "expected 1 argument(s) in call to 'abs', got 0, at 'abs' at line 2, character 4",
    'x{a=~"("}': 'the regular expression "(" at character 6 has a `(` that is not closed',
    'y{a="("} / x{a=~"("}': 'the regular expression "(" at character 17 has',
    'x{a=~"a)b"}': "has a `)` that was not opened",
    'x{a!~"[a-z"}': "has a `[` that is not closed",
    'x{a=~"long enough|*"}': "repeats nothing with `*`",
    'x{a=~"long enough \\\\"}': "ends with a backslash",
}
"""No Prometheus takes them, of any version."""


@pytest.mark.parametrize("expr", NEWER)
def test_what_may_be_newer_promql_is_no_error(expr: str) -> None:
    """The daemon did not start with it, although the server knew it."""
    found = parse(expr)
    assert found.unknown is not None
    assert "; `autoscaler check --live` asks it" in found.unknown
    assert (found.window, found.plain, found.scalar) == (timedelta(seconds=60), False, False)


@pytest.mark.parametrize(("expr", "told"), WRONG.items())
def test_what_no_prometheus_takes_is_an_error_with_its_place(expr: str, told: str) -> None:
    """Without a server, it is known at once what to correct, and where."""
    with pytest.raises(ValueError, match="invalid PromQL: ") as caught:
        parse(expr)
    assert told in str(caught.value)


def test_a_wrong_call_is_found_beside_syntax_that_is_not_known() -> None:
    """A name that is wrong stays wrong, whatever stands beside it."""
    with pytest.raises(ValueError, match="did you mean `rate`"):
        parse("rats(up[1m] smoothed) + rat(up[1m])")


def test_a_file_with_it_loads_and_names_it(load_text: Load) -> None:
    """With its place, its source and its text, for who asks the server."""
    metric = EXTERNAL % "{expr: 'rate(up[1m] anchored)', prometheus: p}"
    head = f"{HEAD}prometheus: {{p: {{url: 'http://h'}}, default: {{url: 'http://d'}}}}\n"
    shared = "queries: {q: {expr: 'x offset (1h / 2)'}, fine: {expr: up}}\n"
    settings = load_text(f"{head}{shared}autoscalers:\n  - {SCALER % (metric, '')}\n")
    found = [(each.prometheus, each.expr, each.problem.path) for each in settings.unknown_expressions]
    assert found == [
        ("default", "x offset (1h / 2)", "queries.q.expr"),
        ("p", "rate(up[1m] anchored)", "autoscalers[0].metrics[0].external.query.expr"),
    ]
    assert [each.problem.line for each in settings.unknown_expressions] == [3, 5]
    assert settings.warnings == ()


def test_its_window_and_age_are_what_is_given(load_text: Load) -> None:
    """Nothing is known of its ranges, nor whether it is a plain selector."""
    found = query(load_text, "{expr: 'rate(up[1h] anchored)'}")
    assert (found.window, found.max_age) == (timedelta(seconds=60), None)
    found = query(load_text, "{expr: 'up offset (1h / 2)', window: 5m, maxAge: 2m}")
    assert (found.window, found.max_age) == (timedelta(minutes=5), timedelta(minutes=2))


def test_it_is_shared_like_any_other(load_text: Load) -> None:
    """For instances too: that it is a scalar is not known."""
    pods = "{type: Pods, pods: {metric: {name: q}, query: {ref: s}, target: {type: AverageValue, averageValue: 1}}}"
    text = f"{HEAD}queries: {{s: {{expr: 'up >/ 1'}}}}\nautoscalers:\n  - {SCALER % (pods, '')}\n"
    assert load_text(text).autoscalers[0].metrics[0].query.expr == "up >/ 1"


@pytest.mark.parametrize("expr", NEWER)
def test_it_is_asked_as_it_is_written(expr: str) -> None:
    """What a merged answer would mean is proven from the syntax."""
    questions = [ask(f'({expr}) * on() group_left() z{{asg="{value}"}}') for value in ("a", "b")]
    assert {each.expr for each in plan(questions).queries} == {each.expr for each in questions}
    assert narrowing(expr, "asg") is None


@pytest.mark.parametrize("name", sorted(FUNCTIONS))
def test_every_function_in_the_list_is_known(name: str) -> None:
    """A name that is no function would be suggested to people."""
    with pytest.raises(ValueError, match=f"in call to (function )?'{name}'"):
        ast.parse(f"{name}({', '.join(['x[1m]'] * 9)})")


@pytest.mark.parametrize("name", sorted(AGGREGATIONS))
def test_every_aggregation_in_the_list_is_known(name: str) -> None:
    """As for functions."""
    with pytest.raises(ValueError, match=f"no arguments for aggregate expression '{name}'"):
        ast.parse(f"{name}()")


@given(name=st.sampled_from(sorted(FUNCTIONS | AGGREGATIONS)), data=st.data())
def test_a_letter_wrong_is_a_near_miss(name: str, data: st.DataObject) -> None:
    """One that is added, left out, another, or swapped: of some function, if not of this one."""
    at = data.draw(st.integers(0, len(name) - 1))
    letter = data.draw(st.sampled_from("abcdefghijklmnopqrstuvwxyz_"))
    swapped = name[:at] + name[at + 1 : at + 2] + name[at] + name[at + 2 :]
    added, left_out = name[:at] + letter + name[at:], name[:at] + name[at + 1 :]
    other = name[:at] + letter + name[at + 1 :]
    for word in {added, left_out, other, swapped} - FUNCTIONS - AGGREGATIONS - OTHERS - {""}:
        assert near_function(word) is not None, word


@pytest.mark.parametrize(
    "word", ["fresh_function", "on", "BY", "Sum", "min_of", "sum2", "x", "median", "label_set", "z" * 9999]
)
def test_a_word_that_is_like_none_is_no_near_miss(word: str) -> None:
    """It may be a function of tomorrow, or of a server that only speaks PromQL's dialect."""
    assert near_function(word) is None
