"""What `check` calls an error in a query, and `run` only warns of."""

from pathlib import Path

import pytest

from autoscaler.config.loader import load
from autoscaler.config.settings import Settings
from autoscaler.errors import ConfigError
from tests.observe.planner.build import ask, plan

VICTORIA = "sum(rate(requests_total))"
"""VictoriaMetrics takes its own range where none is written; PromQL refuses it."""
HEAD = """\
adapters: {a: {type: groups}}
prometheus: {default: {url: "http://d"}, victoria: {url: "http://v", syntax: metricsql}}
"""


def autoscaler(name: str, query: str, kind: str = "External") -> str:
    key, target = ("pods", "averageValue") if kind == "Pods" else ("external", "averageValue")
    return (
        f"  - name: {name}\n    scaleTargetRef: {{adapter: a, name: j/{name}}}\n    maxReplicas: 3\n    metrics:\n"
        f"      - type: {kind}\n        {key}:\n          metric: {{name: q}}\n          query: {query}\n"
        f"          target: {{type: AverageValue, {target}: 1}}\n"
    )


def written(tmp_path: Path, *autoscalers: str, queries: str = "{}") -> Path:
    file = tmp_path / "autoscaler.yaml"
    file.write_text(f"{HEAD}queries: {queries}\nautoscalers:\n{''.join(autoscalers)}")
    return file


def errors(file: Path, *, judge: bool = True) -> list[tuple[str, str]]:
    with pytest.raises(ConfigError) as caught:
        load(file, judge=judge)
    paths = {each.path for each in caught.value.problems}
    assert not paths & {each.path for each in caught.value.warnings}  # each is told once
    return [(each.path, each.message) for each in caught.value.problems]


def warned(settings: Settings) -> list[tuple[str, str]]:
    return [(each.prometheus, each.expr) for each in settings.unknown_expressions]


EXPR = "autoscalers[0].metrics[0].external.query.expr"


@pytest.mark.parametrize(
    "expr",
    [
        VICTORIA,
        "rate(x)",
        "raet(x[5m])",
        "sum(x",
        'x{a="b}',
        '{job=~".*"}',
        "{}",
        "clamp(x, 1)",
        "x[1m][2m]",
        "rate(x[$__interval])",
        "1 > 2",
    ],
)
def test_an_expression_that_the_offline_parser_refuses_is_an_error_of_check_and_a_warning_of_run(
    tmp_path: Path, expr: str
) -> None:
    """A daemon in front of VictoriaMetrics did not start, although the server answers it. Its neighbour is served."""
    text = f"{{expr: '{expr}'}}"
    file = written(tmp_path, autoscaler("web", text), autoscaler("fine", "{expr: load}"))
    ((path, message),) = errors(file)
    assert path == EXPR
    assert message.startswith("invalid PromQL")
    settings = load(file)
    assert warned(settings) == [("default", expr)]
    assert [each.name for each in settings.autoscalers] == ["web", "fine"]
    assert "it is sent as it is, because its server may know it" in settings.unknown_expressions[0].problem.message


def test_a_source_of_metricsql_makes_it_a_warning_of_check(tmp_path: Path) -> None:
    """`check --live` then asks the server."""
    file = written(tmp_path, autoscaler("web", f"{{expr: '{VICTORIA}', prometheus: victoria}}"))
    assert warned(load(file, judge=True)) == warned(load(file)) == [("victoria", VICTORIA)]


def test_a_shared_query_is_judged_by_its_own_source(tmp_path: Path) -> None:
    """It is told once, however many use it."""
    users = [autoscaler(name, "{ref: all}") for name in ("a", "b")]
    file = written(tmp_path, *users, queries=f"{{all: {{expr: '{VICTORIA}'}}}}")
    assert [path for path, _ in errors(file)] == ["queries.all.expr"]
    file = written(tmp_path, *users, queries=f"{{all: {{expr: '{VICTORIA}', prometheus: victoria}}}}")
    assert warned(load(file, judge=True)) == [("victoria", VICTORIA)]


@pytest.mark.parametrize("judge", [False, True])
@pytest.mark.parametrize("query", ["{expr: 'x[5m]'}", "{expr: '\"x\"'}", "{ref: absent}", "{expr: ''}"])
@pytest.mark.parametrize("source", ["default", "victoria"])
def test_an_expression_that_no_server_can_answer_is_an_error_everywhere(
    tmp_path: Path, query: str, source: str, *, judge: bool
) -> None:
    """A range vector, a text, and a query that does not exist."""
    query = query.replace("}", f", prometheus: {source}}}")
    assert len(errors(written(tmp_path, autoscaler("web", query)), judge=judge)) == 1


@pytest.mark.parametrize(
    "query", ["{expr: sum(load)}", "{expr: sum by (job) (load), prometheus: victoria}", "{ref: all}"]
)
def test_a_sum_in_a_pods_metric_is_an_error_of_check_and_a_warning_of_run(tmp_path: Path, query: str) -> None:
    """It can never work: no sample belongs to an instance. Another metric of the autoscaler may."""
    file = written(tmp_path, autoscaler("web", query, "Pods"), queries="{all: {expr: sum(load)}}")
    ((path, message),) = errors(file)
    assert path.startswith("autoscalers[0].metrics[0].pods.query.")
    assert message.startswith("the query's samples have no label alloc_id or task_id")
    settings = load(file)
    assert [(each.path, each.message) for each in settings.without_instance] == [(path, message)]


@pytest.mark.parametrize(
    "form", ["sum(rate(x{{asg='{}'}}))", "raet(x{{asg='{}'}}[5m])", "{{asg=~'.*'}} * x{{asg='{}'}}"]
)
def test_an_expression_that_the_offline_parser_refuses_is_not_merged(form: str) -> None:
    """The meaning of a merged answer follows from the syntax."""
    questions = [ask(form.format(value)) for value in "ab"]
    assert {each.expr for each in plan(questions)} == {each.expr for each in questions}
