"""Suggested queries are valid PromQL for any metric and label, and have the meaning of Kubernetes' selector."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import promql_parser as ast
import pytest
import requests
from hypothesis import given
from hypothesis import strategies as st

from autoscaler.convert.hpa import Identifier, Requirement, Selector
from autoscaler.convert.series import series
from autoscaler.fields.promql import parse
from tests.servers.prometheus import running_prometheus

LEGAL = [
    *("up", "http_requests_total", "job:rate5m", "a:b:c", ":x", "_", "_x", "X9", "Total", "e1", "x1e3", "inflight"),
    *("sum", "by", "and", "or", "unless", "offset", "start", "end", "rate", "time", "count_values", "without", "avg"),
    *("info", "step", "min_of", "infinite", "nano", "once", "boolean", "ignore", "atan", "group", "label_replace"),
]
"""Names that Prometheus 2 accepts without quotes."""
RESERVED = ["on", "On", "ON", "ignoring", "bool", "inf", "Inf", "nan", "NaN", "group_left", "group_right", "atan2"]
"""Prometheus 2 may have metrics of these names, and reads the bare word as a keyword."""
HOSTILE = [
    *("a.b", "a-b", "a b", "9lives", "0x1F", "1e3", "5m", "5", "a.b.c-d", "-a", ".a", "a.", "a-", "-", ".", "1_000"),
    *("größe", "naïve", "Ω", "名前", "\U0001f600", "a\U0001f600b", "é", "\u0142"),
    *('a"b', '"', '""', "a'b", "'", "a`b", "`", "\\", "a\\b", "a\\", "\\n", '\\"', "\\u0041", "\\x"),
    *("{", "}", "{}", "{{x}}", "a{b", "a}b", "[", "]", "a[5m]", "(", ")", "f(x)", "a(", "a)"),
    *("#", "a#b", "# comment", "a=b", "=", "==", "=~", "!=", "!~", "a,b", ",", ";", "a;b", "|", "a|b", "&", "&&"),
    *("$", "$x", "^", "~", "!", "?", "*", "**", "+", "++", "a+b", "<", ">", "<=", "@", "a@b", ":", "::", "a:b-c"),
    *("a,b=c", 'x"}', 'x"} or up', "__name__", "__name__=", "a.__name__", "NaN.b", "on.b", "sum.x", "sum(x)"),
    *("rabbitmq.queue.messages", "nginx-ingress", "custom.googleapis.com|queue", "s3.bucket-size", "dotnet.gc.heap"),
]
VALUES = [
    *("", "a", "a.b", "a|b", "a*", "(a", "a)", "[", "]", "{2}", "^", "$", "\\", "\\d", '"', "a\\", "+", "?", "Ω"),
    *("\U0001f600", "-", "a-z"),
]
KEYS = ["zone", "a.b", "a-b", "shop/zone", "app.kubernetes.io/name", "on", "by", "9a", "x_1", "A", "__name"]


_SIGNS = {"MatchOp.Equal": "=", "MatchOp.NotEqual": "!=", "MatchOp.Re": "=~", "MatchOp.NotRe": "!~"}


def identifier(name: str, labels: Mapping[str, str] | None = None, *requirements: Requirement) -> Identifier:
    """Return an identifier without validation, so that it may contain what no manifest may."""
    selector = Selector.model_construct(match_labels=labels or {}, match_expressions=requirements)
    return Identifier.model_construct(name=name, selector=selector)


def requirement(operator: Any, *values: str, key: str = "zone") -> Requirement:
    return Requirement.model_construct(key=key, operator=operator, values=values)


def matchers(expr: str) -> set[tuple[str, str, str]]:
    """Return the label, operator and value of each matcher of a selector, including its name's."""
    root = ast.parse(expr)
    assert isinstance(root, ast.VectorSelector), expr
    named = {("__name__", "=", root.name)} if root.name else set()
    return named | {(each.name, _SIGNS[str(each.op)], each.value) for each in root.matchers.matchers}


@pytest.mark.parametrize("name", LEGAL)
def test_a_name_that_prometheus_2_accepts_is_not_quoted(name: str) -> None:
    """Both versions of Prometheus accept it."""
    assert series(identifier(name)) == name
    assert series(identifier(name, {"zone": "a"})) == f'{name}{{zone="a"}}'
    assert matchers(series(identifier(name, {"zone": "a"}))) == {("__name__", "=", name), ("zone", "=", "a")}


@pytest.mark.parametrize("name", RESERVED)
def test_a_reserved_word_is_written_as_a_name_label(name: str) -> None:
    """Only Prometheus 3 accepts it in quotes alone."""
    assert series(identifier(name)) == f'{{__name__="{name}"}}'
    assert matchers(series(identifier(name, {"a": "b"}))) == {("__name__", "=", name), ("a", "=", "b")}


@pytest.mark.parametrize("name", HOSTILE)
def test_any_other_name_is_quoted(name: str) -> None:
    """The selector selects that metric and no other, whatever characters the name has."""
    for function in ("", "sum", "sum by (instance) "):
        expr = f"{function}({series(identifier(name))})"
        assert parse(expr).text == expr
    assert matchers(series(identifier(name, {"zone": "x"}))) == {("__name__", "=", name), ("zone", "=", "x")}


@pytest.mark.parametrize("key", KEYS)
@pytest.mark.parametrize("operator", ["In", "NotIn", "Exists", "DoesNotExist"])
def test_each_operator_works_on_any_key(key: str, operator: str) -> None:
    """A key with a slash or a dot is quoted."""
    values = ("a", "b.c") if operator in ("In", "NotIn") else ()
    signs = {"In": ("=~", r"a|b\.c"), "NotIn": ("!~", r"a|b\.c"), "Exists": ("!=", ""), "DoesNotExist": ("=", "")}
    found = series(identifier("queue", {key: "x"}, requirement(operator, *values, key=key)))
    assert matchers(found) == {("__name__", "=", "queue"), (key, "=", "x"), (key, *signs[operator])}
    assert parse(found).text == found


@pytest.mark.parametrize("value", VALUES)
def test_a_value_of_in_matches_only_itself(value: str) -> None:
    """It is escaped for the regular expression, and again for the PromQL string."""
    expr = series(identifier("q", {}, requirement("In", value)))
    ((_, _, pattern),) = [each for each in matchers(expr) if each[1] == "=~"]
    others = [*VALUES, "ab", "aa", "aab", "5"]
    assert [other for other in others if re.fullmatch(pattern, other)] == [value]


_KEYS = st.text(min_size=1).filter(lambda key: key.isprintable() and key != "__name__")  # as Kubernetes' labels


@given(
    name=st.text(min_size=1).filter(str.isprintable),
    labels=st.dictionaries(_KEYS, st.text().filter(str.isprintable), max_size=3),
    values=st.lists(st.text().filter(str.isprintable), min_size=1, max_size=3),
)
def test_any_printable_name_and_value_gives_a_valid_suggestion(
    name: str, labels: Mapping[str, str], values: list[str]
) -> None:
    found = series(identifier(name, labels, requirement("In", *values)))
    pattern = "|".join(re.sub(r"[\\.+*?()|\[\]{}^$]", r"\\\g<0>", value) for value in values)
    meant = {("__name__", "=", name), ("zone", "=~", pattern), *((key, "=", value) for key, value in labels.items())}
    assert matchers(found) == meant


@pytest.mark.slow
def test_a_real_prometheus_accepts_the_suggestions(tmp_path: Path) -> None:
    """Quoted names need Prometheus 3."""
    suggestions = [series(identifier(name, {"zone": "a"}, requirement("In", *VALUES))) for name in LEGAL + RESERVED]
    with running_prometheus(tmp_path) as server:
        built = requests.get(f"{server.url}/api/v1/status/buildinfo", timeout=10).json()["data"]
        if int(built["version"].partition(".")[0]) >= 3:
            suggestions += [series(identifier(name, dict.fromkeys(KEYS, "a"))) for name in HOSTILE]
        for suggestion in suggestions:
            assert server.query(f"sum by (instance) ({suggestion})") == []
