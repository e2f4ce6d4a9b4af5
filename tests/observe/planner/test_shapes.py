"""The merged form of each shape. `$` is one of two values."""

import pytest

from tests.observe.planner.build import ask, merged, only, plan

BOTH = '=~"api|web"'


@pytest.mark.parametrize(
    ("template", "expected"),
    [
        ("load{asg=$}", "load{asg~}"),
        ("{asg=$}", "{asg~}"),
        ('load{env="x", asg=$ ,mode!="idle"} offset 5m', 'load{env="x",asg~,mode!="idle"} offset 5m'),
        ("load{asg=$} @ 1700000000", "load{asg~} @ 1700000000"),
        ("load{asg=$,asg!='db'}", 'load{asg~,asg!="db"}'),
        ("rate(load{asg=$}[5m] offset 1m)", "rate(load{asg~}[5m] offset 1m)"),
        ("quantile_over_time(0.9, load{asg=$}[5m])", "quantile_over_time(0.9, load{asg~}[5m])"),
        ("clamp_min(load{asg=$}, 1)", "clamp_min(load{asg~}, 1)"),
        ("timestamp(load{asg=$}\n)", "timestamp(load{asg~})"),
        ("-load{asg=$}", "-load{asg~}"),
        ("(1 + 2) * load{asg=$} / time()", "(1 + 2) * load{asg~} / time()"),
        ("load{asg=$} > 5", "load{asg~} > 5"),
        ("1 < bool load{asg=$}", "1 < bool load{asg~}"),
        ("load{asg=$} / scalar(count(up))", "load{asg~} / scalar(count(up))"),
    ],
)
def test_functions_of_single_series_are_unchanged(template: str, expected: str) -> None:
    assert merged(template) == expected.replace("~", BOTH)


@pytest.mark.parametrize(
    ("template", "expected"),
    [
        ("sum(load{asg=$})", "sum by (asg) (load{asg~})"),
        ("SUM (load{asg=$})", "sum by (asg) (load{asg~})"),
        ("avg by (i) (load{asg=$})", "avg by (i, asg) (load{asg~})"),
        ("min(load{asg=$}) BY (i,)", "min by (i, asg) (load{asg~})"),
        ("max by () (load{asg=$})", "max by (asg) (load{asg~})"),
        ("count by (i, asg) (load{asg=$})", "count by (i, asg) (load{asg~})"),
        ("quantile(0.9, load{asg=$})", "quantile by (asg) (0.9, load{asg~})"),
        ("sum without (i) (load{asg=$})", "sum without (i) (load{asg~})"),
        ("sum without (asg, i) (load{asg=$})", "sum without (i) (load{asg~})"),
        ("sum without (asg) (load{asg=$})", "sum without () (load{asg~})"),
        ("max(sum by (i) (load{asg=$}))", "max by (asg) (sum by (i, asg) (load{asg~}))"),
        ("sum by (asg) (sum(load{asg=$}))", "sum by (asg) (sum by (asg) (load{asg~}))"),
        ("sum by (sum) (sum{asg=$})", "sum by (sum, asg) (sum{asg~})"),
        ("sum(load{asg=$} # by (x) sum(\n)", "sum by (asg) (load{asg~})"),
        ("max_over_time(sum(load{asg=$})[9m:1m] @ end())", "max_over_time(sum by (asg) (load{asg~})[9m:1m] @ end())"),
        (
            "histogram_quantile(0.9, sum by (le) (rate(b{asg=$}[5m])))",
            "histogram_quantile(0.9, sum by (le, asg) (rate(b{asg~}[5m])))",
        ),
        (
            'label_replace(load{asg=$}, "instance", "x", "node", "(.*)")',
            'label_replace(load{asg~}, "instance", "x", "node", "(.*)")',
        ),
    ],
)
def test_the_label_is_added_to_the_grouping(template: str, expected: str) -> None:
    assert merged(template) == expected.replace("~", BOTH)


@pytest.mark.parametrize(
    ("template", "expected"),
    [
        ("a{g=$} / b{g=$}", "a{g~} / b{g~}"),
        ("sum(a{g=$}) / sum(b{g=$})", "sum by (g) (a{g~}) / sum by (g) (b{g~})"),
        ("a{g=$} / on(i) b{g=$}", "a{g~} / on (i, g) b{g~}"),
        ("a{g=$} and on() b{g=$}", "a{g~} and on (g) b{g~}"),
        ("a{g=$} / on(g) b{g=$}", "a{g~} / on (g) b{g~}"),
        ("a{g=$} / ignoring(g, c) b{g=$}", "a{g~} / ignoring (c) b{g~}"),
        ("a{g=$} / ignoring(g) sum without (g) (b{g=$})", "a{g~} / ignoring () sum without () (b{g~})"),
        ("a{g=$} * on(i) group_left(v) b{g=$}", "a{g~} * on (i, g) group_left (v) b{g~}"),
        ("a{g=$} or b{g=$}", "a{g~} or b{g~}"),
        ("sum(a{g=$}) unless sum(b{g=$}) > 2", "sum by (g) (a{g~}) unless sum by (g) (b{g~}) > 2"),
    ],
)
def test_two_sides_are_also_matched_by_the_label(template: str, expected: str) -> None:
    assert merged(template) == expected.replace("~", BOTH)


@pytest.mark.parametrize(
    ("template", "expected"),
    [
        ("sum(a{g=$}) or vector(0)", "sum by (g) (a{g~}) or vector(0)"),
        ("(sum(a{g=$}) or on() vector(0)) * 2", "(sum by (g) (a{g~}) or on (g) vector(0)) * 2"),
        ("count(a{g=$}) or (vector(1))", "count by (g) (a{g~}) or (vector(1))"),
    ],
)
def test_a_default_number_is_asked_once(template: str, expected: str) -> None:
    assert merged(template) == expected.replace("~", BOTH)


@pytest.mark.parametrize(
    ("values", "pattern"),
    [
        (("b", "a"), "a|b"),
        (("a.b", "a|b"), r"a\\.b|a\\|b"),
        (('"', "\\"), r"\"|\\\\"),
        (("é", "日本"), "é|日本"),
        (("#", "-"), "#|-"),
        ((" a", "a "), " a|a "),
        (("$", "^"), r"\\$|\\^"),
    ],
)
def test_values_are_escaped_and_in_order(values: tuple[str, ...], pattern: str) -> None:
    assert merged("load{asg=$}", *values) == f'load{{asg=~"{pattern}"}}'


def test_a_long_sum_is_merged() -> None:
    template = "+".join(["a{g=$}"] * 200)
    assert merged(template) == " + ".join([f"a{{g{BOTH}}}"] * 200)


def test_every_kind_of_quote_is_read() -> None:
    """In backticks a backslash is literal; in quotes it escapes."""
    texts = [r'a{g="\"1\\"}', r"a{g='2\''}", r"a{g=`3\`}"]
    assert only(plan(map(ask, texts))).expr == r"""a{g=~"\"1\\\\|2'|3\\\\"}"""
