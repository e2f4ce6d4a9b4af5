"""What is surely no PromQL is an error with its place; what may be, to a newer Prometheus, is a warning."""

from collections.abc import Iterator
from datetime import timedelta
from typing import Final

import promql_parser as ast
import pytest
import requests
from hypothesis import given
from hypothesis import strategies as st

from autoscaler.config.promql import parse
from autoscaler.config.promql_words import AGGREGATIONS, FUNCTIONS, OTHERS, near_function
from autoscaler.observe.planner import narrowing
from tests.config.conftest import Load
from tests.config.test_load import EXTERNAL, HEAD, SCALER, query
from tests.observe.planner.build import ask, plan
from tests.servers.prometheus import PrometheusServer, running_prometheus

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
    "x keep_metric_names",
    "x default 0",
    "WITH (job = web) x{job=job}",
    "offset and rate(up[1m] anchored)",
    "up * on() group_right (b) and == rate(x[1m] anchored)",
]
"""Of Prometheus 3, of one to come, or of VictoriaMetrics: promql-parser refuses each."""

FINE: Final = [
    'up{a=~"[[]"}',
    'up{a=~"[[:alpha:][]x"}',
    'up{a=~"(?i)a+?|^*|(?:b|)\\\\.{2}", b!~`\\d*`}',
    "sum by (and, on, offset) (by)",
    "sum offset 5m + count unless max",
    "up{a='=', b=\"}\"} # it's {",
    "job:offset - 5 + my_offset + 5",
    "-up ^ -2 >= bool -1 and on () up",
    "max_over_time(rate(up[5m])[1h:])",
    "label_replace(up, 'a', '$1; &&', `b`, '(.*)')",
    "sum_over_time(up[5m:] offset 1h) > 0",
]
"""Every Prometheus takes them."""

WRONG: Final = {
    "": "no expression found in input; write one",
    " \n": "no expression found in input",
    "# nothing": "no expression found in input",
    "sum(x": "unclosed left parenthesis '(' at character 4; close it",
    "rate(x[5m": "unclosed left bracket '[' at character 7",
    'x{a="b"': "unclosed left brace '{' at character 2",
    "sum(x))": "unexpected right parenthesis ')' at character 7",
    "x]": "unexpected right bracket ']' at character 2; correct the brackets",
    "sum(x]": "unexpected right bracket ']' at character 6; close '(' at character 4 first, or correct the brackets",
    "rate(x[1m) anchored]": "unexpected right parenthesis ')' at character 10; close '[' at character 7 first, or",
    'x{a="b}': 'unterminated quoted string " at character 5; end it',
    "x{a='b}": "unterminated quoted string ' at character 5",
    "x{a=`b}": "unterminated quoted string ` at character 5",
    'x{a="b\n"}': 'unterminated quoted string " at line 1, character 5',
    'x{a=~"b\\.c"}': r"unknown escape sequence \. at character 8; write \\., or use backquotes",
    # names and arguments
    "raet(x[5m])": "unknown function with name 'raet', at character 1; did you mean `rate`?",
    "sum(\n  avgovertime(x[1m]))": (
        "unknown function with name 'avgovertime', at line 2, character 3; did you mean `avg_over_time`?"
    ),
    "Rate(x[5m])": "did you mean `rate`?",
    "histogram_quantil(0.9, x)": "did you mean `histogram_quantile`?",
    "rate(x)": "expected type matrix in call to function 'rate', got vector, at character 1; correct its arguments",
    "rate(x[1m]) + rate(y)": "expected type matrix in call to function 'rate', got vector; correct its arguments",
    "clamp(x, 1)": "expected 3 argument(s) in call to 'clamp', got 2, at character 1",
    "round(x, 1, 2)": "expected at most 2 argument(s) in call to 'round', got 3",
    "topk(3, topk(x))": "expected 2, got 1; correct its arguments",
    'sum by (a) ("x")': "expected type vector in aggregation expression, got string, of 'sum', at character 1",
    'x{a="long text that is put aside, all sixty-four characters of it, and then"} + abs()': "at character 81",
    "x # (\n + abs()": "expected 1 argument(s) in call to 'abs', got 0, at line 2, character 4",
    "sum(x,)": "trailing commas not allowed in function call args; correct it",
    '"a" + 1': "binary expression must contain only scalar and instant vector types; correct it",
    "1 > 2": "comparisons between scalars must use BOOL modifier; correct it",
    "sum(x)[5m]": "ranges only allowed for vector selectors",
    "{}": "vector selector must contain at least one non-empty matcher",
    "x / on(a) group_left(a) y": "label 'a' must not occur in ON and GROUP clause at once",
    # labels
    "x{job=web}": "the label's value 'web' has no quotes at character 7; write \"web\"",
    'x{a="b", c!~d.e}': "the label's value 'd.e' has no quotes at character 13",
    'x{job=="web"}': "'==' is no operator for labels at character 6; write =, !=, =~ or !~",
    'x{job: "web"}': "':' is no operator for labels at character 6",
    'x{a="b" c="d"}': "there is no comma before the label 'c' at character 9; add it",
    "x{job=$job}": "'$job' is a variable of Grafana at character 7; write its value",
    "rate(x[$__rate_interval])": "'$__rate_interval' is a variable of Grafana at character 8",
    'x{=~"a"}': "'=~' has no left side at character 3; write it",
    "x{a=}": "'=' has no right side at character 4; write it",
    "x{,}": "',' has no left side at character 3",
    "x{job=\u201cweb\u201d}": "'\u201c' is not ASCII at character 7; write a plain quote, minus or space",
    # groups
    "sum by job (x)": "the labels of 'by' are not in parentheses at character 5; write by (LABEL, …)",
    "sum(x) by": "the labels of 'by' are not in parentheses at character 8",
    "sum(x) without job": "the labels of 'without' are not in parentheses at character 8",
    "sum by (job) x": "what is aggregated is not in parentheses at character 14",
    "sum rate(x[5m])": "what is aggregated, 'rate', is not in parentheses at character 5; write sum(EXPRESSION)",
    "x / on job y": "the label 'job' is not in parentheses at character 8; write on (LABEL, …)",
    # operators and durations
    "x = 1": "'=' compares labels only at character 3; write == or != between numbers",
    'x =~ "1"': "'=~' compares labels only at character 3",
    "x => 1": "'=' compares labels only at character 3",
    "x && y": "'&&' is no operator at character 3; write `and` or `or`",
    "x <> 1": "'<>' is no operator at character 3; write one operator",
    "x;": "';' is no operator at character 2; remove it",
    "x +": "'+' has no right side at character 3; write it",
    "(x *) + 1": "'*' has no right side at character 4",
    "x and": "'and' has no right side at character 3",
    "x{a='b'} offset": "'offset' has no right side at character 10",
    "sum(x) > 90%": "'%' has no right side at character 12",
    "* x": "'*' has no left side at character 1",
    "clamp(x,,1)": "',' has no left side at character 9",
    "rate(x[])": "the range is empty at character 7; write one such as [5m]",
    "rate(x[5min])": "'5min' is no duration at character 8; write one such as 30s, 5m, 1h, 1d or 1w",
    "rate(x[5 m])": "'5 m' is no duration at character 8",
    # regular expressions
    'x{a=~"("}': 'a `(` is not closed in the regular expression "(" at character 6; correct it',
    'y{a="("} / x{a=~"("}': 'a `(` is not closed in the regular expression "(" at character 17',
    'x{a=~"a)b"}': "a `)` is not opened",
    'x{a!~"[a-z"}': "a `[` is not closed",
    'x{a=~"long enough|*"}': "`*` repeats nothing",
    'x{a=~"a.**"}': "`**` repeats twice",
    'x{a=~"long enough \\\\"}': "a backslash stands at the end",
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


@pytest.mark.parametrize("expr", FINE)
def test_what_every_prometheus_takes_is_known(expr: str) -> None:
    """Words of PromQL may be names, and a text in quotes may hold anything."""
    assert parse(expr).unknown is None


@pytest.mark.parametrize(
    ("expr", "number", "window"),
    [("rate(x[5])", "5", 5), ("max_over_time(x[1h:30] offset 7)", "30", 3600), ("sum(x offset -300)", "300", 60)],
)
def test_a_duration_without_a_unit_is_a_warning(expr: str, number: str, window: int) -> None:
    """Prometheus 3 reads seconds, and Prometheus 2 answers 400."""
    found = parse(expr)
    assert found.unknown == (
        f"{number} stands for a duration without a unit, which Prometheus 2 refuses and Prometheus 3 reads as seconds; "
        f"write {number}s"
    )
    assert found.window == timedelta(seconds=window)


@pytest.mark.parametrize(
    "expr", ["rate(x[NaN])", "x offset +Inf", "rate(x[1e30])", "rate(x[1h:inf])", "rate(x[0x7fffffffffffffff])"]
)
def test_a_number_that_is_no_duration_is_an_error(expr: str) -> None:
    """promql-parser panics, which ends the process."""
    with pytest.raises(ValueError, match="more than 100 years"):
        parse(expr)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PrometheusServer]:
    with running_prometheus(tmp_path_factory.mktemp("prometheus")) as server:
        yield server


@pytest.mark.slow
def test_prometheus_refuses_each_error_and_nothing_that_is_fine(server: PrometheusServer) -> None:
    """An error keeps the daemon from starting, so it must be one to the server too."""

    def answer(expr: str) -> int:
        return requests.get(f"{server.url}/api/v1/query", params={"query": expr}, timeout=10).status_code

    assert {expr: answer(expr) for expr in WRONG} == dict.fromkeys(WRONG, 400)
    assert {expr: answer(expr) for expr in FINE} == dict.fromkeys(FINE, 200)


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
