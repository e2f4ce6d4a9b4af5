"""An expression is an error if it is known what is wrong, and a warning if promql-parser cannot read it."""
# ruff: noqa: E501 - a table is read line by line

from collections.abc import Iterator
from datetime import timedelta
from typing import Final

import promql_parser as ast
import pytest
import requests
from hypothesis import given
from hypothesis import strategies as st

from autoscaler.fields.kept_labels import names_no_instance
from autoscaler.fields.promql import parse
from autoscaler.fields.promql_functions import FUNCTIONS, OTHERS, near_function
from tests.config.conftest import Load
from tests.config.texts import EXTERNAL, HEAD, SCALER, query
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
    "sum(x) by (a) limit 5",
    "x / on(a) group_left(*) prefix 'b' y ifnot z",
    "WITH (job = web) x{job=job}",
    "info(x, {})",
    "offset and rate(up[1m] anchored)",
    "up * on() group_right (b) and == rate(x[1m] anchored)",
]
"""Syntax of Prometheus 3, of newer versions or of VictoriaMetrics, which promql-parser refuses."""

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
"""Every Prometheus accepts them."""

WRONG: Final = {
    "": ": no expression found in input; write one",
    " \n": ": no expression found in input; write one",
    "# nothing": ": no expression found in input; write one",
    "sum(x": " at character 4: unclosed '('; close it",
    "rate(x[5m": " at character 7: unclosed '['; close it",
    'x{a="b"': " at character 2: unclosed '{'; close it",
    "sum(x))": " at character 7: unexpected ')'; correct the brackets",
    "x]": " at character 2: unexpected ']'; correct the brackets",
    "sum(x]": " at character 6: unexpected ']'; correct the brackets",
    "rate(x[1m) anchored]": " at character 10: unexpected ')'; correct the brackets",
    'x{a="b}': ' at character 5: unterminated quoted string "; close it',
    "x{a='b}": " at character 5: unterminated quoted string '; close it",
    "x{a=`b}": " at character 5: unterminated quoted string `; close it",
    'x{a="b\n"}': ' at line 1, character 5: unterminated quoted string "; close it',
    'x{a=~"b\\.c"}': " at character 8: unknown escape sequence \\.; write \\\\., or use backquotes",
    "raet(x[5m])": " at character 1: unknown function with name 'raet'; did you mean `rate`?",
    "sum(\n  avgovertime(x[1m]))": (
        " at line 2, character 3: unknown function with name 'avgovertime'; did you mean `avg_over_time`?"
    ),
    "Rate(x[5m])": " at character 1: unknown function with name 'Rate'; did you mean `rate`?",
    "histogram_quantil(0.9, x)": (
        " at character 1: unknown function with name 'histogram_quantil'; did you mean `histogram_quantile`?"
    ),
    "rate(x)": " at character 1: expected type matrix in call to function 'rate', got vector; correct the arguments",
    "rate(x[1m]) + rate(y)": ": expected type matrix in call to function 'rate', got vector; correct the arguments",
    "clamp(x, 1)": " at character 1: expected 3 argument(s) in call to 'clamp', got 2; correct the arguments",
    "round(x, 1, 2)": " at character 1: expected at most 2 argument(s) in call to 'round', got 3; correct the arguments",
    "topk(3, topk(x))": ": wrong number of arguments for aggregate expression provided, expected 2, got 1",
    'sum by (a) ("x")': ": expected type vector in aggregation expression, got string",
    'x{a="a # text"} + abs()': " at character 19: expected 1 argument(s) in call to 'abs', got 0; correct the arguments",
    "x # (\n + abs()": " at line 2, character 4: expected 1 argument(s) in call to 'abs', got 0; correct the arguments",
    "sum(x,)": ": trailing commas not allowed in function call args",
    '"a" + 1': ": binary expression must contain only scalar and instant vector types",
    "1 > 2": ": comparisons between scalars must use BOOL modifier",
    "sum(x)[5m]": ": ranges only allowed for vector selectors",
    "{}": ": vector selector must contain at least one non-empty matcher",
    "x / on(a) group_left(a) y": ": label 'a' must not occur in ON and GROUP clause at once",
    "x{job=web}": " at character 7: unexpected identifier 'web' in label matching, expected string; write the value in quotes",
    'x{a="b", c!~d.e}': " at character 14: unexpected character inside braces: '.'",
    'x{job=="web"}': ": unexpected '=' in label matching, expected string",
    'x{job: "web"}': " at character 6: unexpected character inside braces: ':'",
    "x{job=$job}": " at character 7: unexpected character inside braces: '$'; write the value of Grafana's variable",
    "rate(x[$__rate_interval])": " at character 8: unexpected character inside brackets: '$'; write the value of Grafana's variable",
    "x{,}": " at character 3: unexpected ',' in label matching, expected identifier or right_brace",
    "x{job=“web”}": " at character 7: unexpected character inside braces: '“'",
    "x && y": ": unexpected character: '&'",
    '{a="b" or c="d"}': ": unexpected `or` between matchers; only VictoriaMetrics has it; combine two selectors with or",
    "x;": " at character 2: unexpected character: ';'",
    "x{a='b'} offset": ": unexpected end of input in offset, expected duration; write one such as 30s, 5m or 1h30m",
    "clamp(x,,1)": ": trailing commas not allowed in function call args",
    "rate(x[])": ": missing unit character in duration; write one such as 30s, 5m or 1h30m",
    "sum(x) foo": " at character 8: unexpected 'foo' after ')', expected an operator or brackets",
    "x y": " at character 3: unexpected 'y' after 'x', expected an operator or brackets",
    "x{a='b'} 5": " at character 10: unexpected '5' after '}', expected an operator or brackets",
    "x[5m] # twice\ny": " at line 2, character 1: unexpected 'y' after ']', expected an operator or brackets",
    "x + on (a) y offset 5m z": " at character 24: unexpected 'z' after '5m', expected an operator or brackets",
    "sum by (job) x": " at character 14: unexpected 'x' after ')', expected an operator or brackets",
    "sum rate(x[5m])": " at character 5: unexpected 'rate' after 'sum', expected an operator or brackets",
    "x / on job y": " at character 12: unexpected 'y' after 'job', expected an operator or brackets",
    "topk(5 x)": " at character 8: unexpected 'x' after '5', expected an operator or brackets",
    "x +": " at character 3: nothing stands behind '+'",
    "(x *) + 1": " at character 4: nothing stands behind '*'",
    "sum(x) > 90%": " at character 12: nothing stands behind '%'",
    "rate(x[5min])": ": bad number or duration syntax: 5mi; write one such as 30s, 5m or 1h30m",
}
"""No Prometheus accepts them, and check says what is wrong."""

NOT_READ: Final = [
    'x{a="b" c="d"}',
    'x{=~"a"}',
    "x{a=}",
    "sum(x) by",
    "sum(x) without job",
    "x = 1",
    'x =~ "1"',
    "x => 1",
    "x <> 1",
    "x and",
    "* x",
    "rate(x[5 m])",
]
"""No Prometheus accepts them, and promql-parser's error is the same as for newer syntax."""

WRONG_REGEXES: Final = [
    'x{a=~"("}',
    'y{a="("} / x{a=~"("}',
    'x{a=~"a)b"}',
    'x{a!~"[a-z"}',
    'x{a=~"long enough|*"}',
    'x{a=~"a.**"}',
    'x{a=~"long enough \\\\"}',
]
"""No Prometheus accepts them. promql-parser also refuses expressions that Prometheus accepts."""


@pytest.mark.parametrize("expr", NEWER + NOT_READ)
def test_an_expression_that_may_be_newer_promql_is_a_warning(expr: str) -> None:
    """The daemon once refused to start with an expression that the server knew."""
    found = parse(expr)
    assert found.unknown is not None
    assert "; run `autoscaler check --live` to ask Prometheus" in found.unknown
    assert (found.window, found.plain, found.scalar) == (timedelta(seconds=60), False, False)


@pytest.mark.parametrize(("expr", "told"), WRONG.items())
def test_an_expression_that_no_prometheus_accepts_is_refused_with_its_position(expr: str, told: str) -> None:
    """Another server may know it, such as `sum(rate(x))`, so `run` sends it as it is. An empty one is an error."""
    if told.endswith("; write one"):
        with pytest.raises(ValueError, match="no expression found") as caught:
            parse(expr)
        assert str(caught.value) == f"invalid PromQL{told}"
        return
    found = parse(expr)
    assert found.refused == f"invalid PromQL{told}"
    assert found.unknown == f"{found.refused}; it is sent as it is, because its server may know it"
    assert (found.window, found.plain, found.scalar) == (timedelta(seconds=60), False, False)


def test_a_long_expression_is_cut_in_a_message() -> None:
    """The parser quotes it, and it may have 65,536 characters."""
    refused = parse(f"x[{'1h30m' * 1000}]").refused
    assert refused is not None
    assert "not a valid duration string" in refused
    assert len(refused) < 300


@pytest.mark.parametrize("expr", ["x[5m]", "(x[5m])", "x[1h:1m]", '"text"', "('text')"])
def test_an_expression_that_is_no_number_for_any_server_is_an_error(expr: str) -> None:
    with pytest.raises(ValueError, match=r"the expression is a (range of samples|string)"):
        parse(expr)


@pytest.mark.parametrize(
    ("expr", "said"),
    [
        (
            "sum by job (rate(x[1m]))",
            "at character 8: unexpected 'job' after by; write the labels in brackets, as in by (job)",
        ),
        ("1 + max  WITHOUT a,b (x)", "at character 18: unexpected 'a' after without; write the labels in brackets"),
    ],
)
def test_labels_without_brackets_are_refused_with_their_place(expr: str, said: str) -> None:
    """No server reads them, and promql-parser says only that the query is invalid."""
    assert said in str(parse(expr).refused)


@pytest.mark.parametrize("expr", ["sum by (job) (x)", "sum by(job)(x)", "x + on (a) by", "by", 'x{a="sum by job"}'])
def test_by_is_also_a_name(expr: str) -> None:
    assert parse(expr).unknown is None


NUMBERS: Final = [".123_456_789", "0x_53_AB_F3_82", "1_000.5", "0x1F_0", "1e1_0", "x > .5_5", "1_000 * 0X_1"]
"""Prometheus 3 reads them. Source: prometheus.io/docs, "Float literals"."""


@pytest.mark.parametrize("expr", NUMBERS)
def test_a_number_with_underscores_is_a_warning(expr: str) -> None:
    found = parse(expr)
    assert found.refused is None
    assert "the offline parser cannot read it" in str(found.unknown)


EMPTY: Final = [
    "",
    ".*",
    "a*",
    "|a",
    "(a|)",
    "(?i).*",
    "a?b*",
    "(?P<n>a)?",
    "(?:a|b*)",
    "[[:alpha:]]*",
    "[^]a]*",
    "\\\\d*",
    "a{0,3}",
    "(b{0}){7}",
    "\\\\pL*",
    "^$",
    "$",
    "(((a?){999}){999}){999}",
]
"""Regular expressions that match the empty text, as in a PromQL text with double quotes."""
FULL: Final = [".+", "a", "a|b", "(a|b)+", "[|*]", "\\\\*", "a{1,3}", "\\\\.", "(", "a**", "x?y"]
"""Regular expressions that do not match it, or are left to Prometheus."""


@pytest.mark.parametrize("regex", EMPTY)
def test_a_selector_of_all_series_is_refused(regex: str) -> None:
    """Prometheus refuses one in which each matcher matches the empty value; it may read each series of the server."""
    wrong = [f'{{job=~"{regex}"}}', f'sum(x) / sum({{job=~"{regex}",a=""}})', f'x and {{a!="b", job=~"{regex}"}}']
    for expr in [*wrong, f'max_over_time({{job=~"{regex}"}}[5m])']:
        assert "must contain at least one non-empty matcher" in str(parse(expr).refused), expr
    for expr in (
        f'x{{job=~"{regex}"}}',
        f'{{job=~"{regex}",a="b"}}',
        f'{{job!~"{regex}"}}',
        f'{{__name__="x",b=~"{regex}"}}',
    ):
        assert parse(expr).unknown is None, expr


@pytest.mark.parametrize("regex", FULL)
def test_a_selector_of_some_series_is_accepted(regex: str) -> None:
    assert parse(f'{{job=~"{regex}"}}').unknown is None
    assert "non-empty matcher" in str(parse(f'{{job!~"{regex}"}}').refused)


@pytest.mark.parametrize("expr", WRONG_REGEXES)
def test_a_regular_expression_is_left_to_prometheus(expr: str) -> None:
    """Character classes differ between Go and promql-parser."""
    assert parse(expr).unknown is None


@pytest.mark.parametrize("expr", FINE)
def test_an_expression_that_every_prometheus_accepts_has_no_warning(expr: str) -> None:
    """Keywords may be names, and quoted text may contain anything."""
    assert parse(expr).unknown is None


@pytest.mark.parametrize(
    ("expr", "number", "window"),
    [("rate(x[5])", "5", 5), ("max_over_time(x[1h:30] offset 7)", "30", 3600), ("sum(x offset -300)", "300", 60)],
)
def test_a_duration_without_a_unit_is_a_warning(expr: str, number: str, window: int) -> None:
    """Prometheus 3 reads seconds, and Prometheus 2 answers 400."""
    found = parse(expr)
    assert found.unknown == (
        f"the duration {number} has no unit: Prometheus 3 reads seconds, and Prometheus 2 refuses it; write {number}s"
    )
    assert found.window == timedelta(seconds=window)


@pytest.mark.parametrize(
    "expr", ["rate(x[NaN])", "x offset +Inf", "rate(x[1e30])", "rate(x[1h:inf])", "rate(x[0x7fffffffffffffff])"]
)
def test_a_number_that_is_no_duration_is_an_error(expr: str) -> None:
    """promql-parser would panic, which ends the process."""
    with pytest.raises(ValueError, match="more than 100 years"):
        parse(expr)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PrometheusServer]:
    with running_prometheus(tmp_path_factory.mktemp("prometheus")) as server:
        yield server


@pytest.mark.slow
def test_a_real_prometheus_agrees_about_errors(server: PrometheusServer) -> None:
    """An error prevents the daemon from starting, so the server has to refuse it, too."""

    def answer(expr: str) -> int:
        return requests.get(f"{server.url}/api/v1/query", params={"query": expr}, timeout=10).status_code

    refused = [*WRONG, *NOT_READ, *WRONG_REGEXES, *(f'{{job=~"{regex}"}}' for regex in EMPTY[:-1])]
    assert {expr: answer(expr) for expr in refused} == dict.fromkeys(refused, 400)
    assert {expr: answer(expr) for expr in FINE} == dict.fromkeys(FINE, 200)


def test_a_file_with_an_unknown_expression_loads_and_lists_it(load_text: Load) -> None:
    """`check --live` needs its position, source and text."""
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


def test_an_unknown_expression_has_the_configured_window_and_max_age(load_text: Load) -> None:
    """Its ranges are unknown, and whether it is a plain selector."""
    found = query(load_text, "{expr: 'rate(up[1h] anchored)'}")
    assert (found.window, found.max_age) == (timedelta(seconds=60), None)
    found = query(load_text, "{expr: 'up offset (1h / 2)', window: 5m, maxAge: 2m}")
    assert (found.window, found.max_age) == (timedelta(minutes=5), timedelta(minutes=2))


def test_an_unknown_expression_can_be_shared(load_text: Load) -> None:
    """It is also accepted for metrics with instances, because it may be a vector."""
    pods = "{type: Pods, pods: {metric: {name: q}, query: {ref: s}, target: {type: AverageValue, averageValue: 1}}}"
    text = f"{HEAD}queries: {{s: {{expr: 'up >/ 1'}}}}\nautoscalers:\n  - {SCALER % (pods, '')}\n"
    assert load_text(text).autoscalers[0].metrics[0].query.expr == "up >/ 1"


@pytest.mark.parametrize("expr", NEWER)
def test_an_unknown_expression_is_not_merged(expr: str) -> None:
    """The meaning of a merged answer follows from the syntax."""
    questions = [ask(f'({expr}) * on() group_left() z{{asg="{value}"}}') for value in ("a", "b")]
    assert {each.expr for each in plan(questions)} == {each.expr for each in questions}


@pytest.mark.parametrize("name", sorted(FUNCTIONS))
def test_every_function_in_the_list_is_known(name: str) -> None:
    """Only functions may be suggested."""
    with pytest.raises(ValueError, match=f"in call to (function )?'{name}'|aggregate expression"):
        ast.parse(f"{name}({', '.join(['x[1m]'] * 9)})")


@given(name=st.sampled_from(sorted(FUNCTIONS)), data=st.data())
def test_one_wrong_letter_gives_a_suggestion(name: str, data: st.DataObject) -> None:
    """A letter can be added, omitted, replaced or swapped."""
    at = data.draw(st.integers(0, len(name) - 1))
    letter = data.draw(st.sampled_from("abcdefghijklmnopqrstuvwxyz_"))
    swapped = name[:at] + name[at + 1 : at + 2] + name[at] + name[at + 2 :]
    added, left_out = name[:at] + letter + name[at:], name[:at] + name[at + 1 :]
    other = name[:at] + letter + name[at + 1 :]
    for word in {added, left_out, other, swapped} - FUNCTIONS - OTHERS - {""}:
        assert near_function(word) is not None, word


@pytest.mark.parametrize("word", ["fresh_function", "BY", "min_of", "sum2", "x", "median", "label_set", "z" * 9999])
def test_a_dissimilar_word_gives_no_suggestion(word: str) -> None:
    """It may be a function of a newer or another server."""
    assert near_function(word) is None


@pytest.mark.parametrize("name", ["service.instance.id", "k8s.pod.name", "service-id", "größe", "http/route", "0a"])
def test_a_label_may_have_the_characters_of_prometheus_3(name: str) -> None:
    """OpenTelemetry's names have dots. The labels that an aggregation keeps are known, and the remedy is in quotes."""
    assert parse(f'sum by ("{name}") (rate(x{{"{name}"="a-b"}}[1m]))').labels == frozenset({name})
    assert f'write sum by ("{name}") (…)' in names_no_instance(name)


def test_operators_in_a_label_are_none() -> None:
    """They take no time and no stack."""
    assert parse("+".join(f'x{{a="{"a-" * 30}"}}' for _ in range(90))).unknown is None
    assert parse('x{a="a.offset-5"}').unknown is None
