"""The position, path and message of every problem."""

import re
from pathlib import Path

import pytest

from autoscaler.config.loader import load
from autoscaler.errors import ConfigError
from tests.config.mistakes import GOOD_METRIC, MISTAKES, NONE, body, down, metric, pods, resource


@pytest.mark.parametrize(("text", "path", "fragment"), MISTAKES.values(), ids=MISTAKES.keys())
def test_a_mistake_gives_one_problem_at_its_position(tmp_path: Path, text: str, path: str, fragment: str) -> None:
    """Follow-up errors would hide it."""
    before, mark, after = text.partition("§")
    assert mark
    file = tmp_path / "autoscaler.yaml"
    file.write_text(before + after, encoding="utf-8")
    with pytest.raises(ConfigError) as caught:
        load(file, judge=True)
    (problem,) = caught.value.problems
    assert (problem.line, problem.column) == (before.count("\n") + 1, len(before) - before.rfind("\n")), problem
    assert problem.path == path, problem
    assert fragment in problem.message, problem
    assert "geheim" not in str(problem)


def test_the_files_of_the_table_are_valid_without_their_mistake(tmp_path: Path) -> None:
    for text in (body(), pods(), resource(), resource(", request: 500m"), metric(GOOD_METRIC), down("{}"), NONE):
        (tmp_path / "good.yaml").write_text(text)
        load(tmp_path / "good.yaml", judge=True)


def test_all_mistakes_are_reported_at_once_in_the_order_of_the_file(tmp_path: Path) -> None:
    file = tmp_path / "autoscaler.yaml"
    file.write_text(
        "controller: {syncPeriod: 15}\n"
        "adapters: {a: {type: groups, retries: x}}\n"
        "queries: {cpu: {expr: 'sum('}}\n"
        "autoscalers:\n"
        "  - {name: web, scaleTargetRef: {adapter: a, name: j/g}, minReplicas: 3, maxReplicas: 2, metrics: []}\n"
        "  - {name: web, scaleTargetRef: {adapter: a, name: j/g}, maxReplica: 2, metrics: [{type: Pods}]}\n"
    )
    with pytest.raises(ConfigError) as caught:
        load(file, judge=True)
    assert [(problem.line, problem.path) for problem in caught.value.problems] == [
        (1, "controller.syncPeriod"),
        (2, "adapters.a.retries"),
        (3, "queries.cpu.expr"),
        (5, "autoscalers[0].maxReplicas"),
        (5, "autoscalers[0].metrics"),
        (6, "autoscalers[1].maxReplicas"),
        (6, "autoscalers[1].name"),
        (6, "autoscalers[1].scaleTargetRef.name"),
        (6, "autoscalers[1].maxReplica"),
        (6, "autoscalers[1].metrics[0].pods"),
    ]
    assert all(re.fullmatch(r"\S+:\d+:\d+: \S+: .+", line) for line in str(caught.value).split("\n"))


def test_two_autoscalers_with_one_target_are_refused(tmp_path: Path) -> None:
    """Each would undo the other's writes. The connection's namespace counts as written."""
    file = tmp_path / "autoscaler.yaml"
    one = "  - {{name: {}, scaleTargetRef: {}, maxReplicas: 2, metrics: [{}]}}"
    lines = [
        "adapters: {a: {type: groups, namespace: prod}}",
        "autoscalers:",
        one.format("x", "{adapter: a, name: j/g}", GOOD_METRIC),
        one.format("y", "{adapter: a, name: j/g, namespace: prod}", GOOD_METRIC),
        one.format("z", "{adapter: a, name: j/g, namespace: test}", GOOD_METRIC),
    ]
    file.write_text("\n".join(lines))
    with pytest.raises(ConfigError) as caught:
        load(file, judge=True)
    (problem,) = caught.value.problems
    assert str(problem) == (
        f"{file}:4:50: autoscalers[1].scaleTargetRef.name: "
        "a/j/g is already scaled by the autoscaler on line 3; remove one of the two"
    )


@pytest.mark.parametrize(
    ("connection", "name", "said"),
    [
        ("{type: groups}", "web", "name: 'web' is not a valid target name; expected JOB/GROUP"),
        (
            "{type: process, pools: {web: {command: x}}}",
            "wep",
            "name: no pool 'wep' is configured; did you mean 'web'?",
        ),
        ("{type: nomad}", "web", "name: 'web' is not a valid target name; write it as JOB/GROUP"),
    ],
)
def test_a_wrong_target_names_its_key_once(tmp_path: Path, connection: str, name: str, said: str) -> None:
    """The adapter's message begins with the key, and the path ends with it."""
    file = tmp_path / "autoscaler.yaml"
    file.write_text(body(scaleTargetRef=f"{{adapter: a, name: {name}}}").replace("{type: groups}", connection))
    with pytest.raises(ConfigError) as caught:
        load(file, judge=True)
    (problem,) = caught.value.problems
    assert str(problem).endswith(f": autoscalers[0].scaleTargetRef.{said}")


@pytest.mark.parametrize("other", ["namespace: default", "region: global", "namespace: default, region: global"])
def test_defaults_of_nomad_count_as_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, other: str) -> None:
    """A target without a namespace is in `default`, so two autoscalers would scale it."""
    file = tmp_path / "autoscaler.yaml"
    monkeypatch.delenv("NOMAD_NAMESPACE", raising=False)
    monkeypatch.delenv("NOMAD_REGION", raising=False)
    targets = {"x": "{adapter: a, name: j/g}", "y": f"{{adapter: a, name: j/g, {other}}}"}
    lines = [
        f"  - {{name: {name}, scaleTargetRef: {target}, maxReplicas: 2, metrics: [{GOOD_METRIC}]}}"
        for name, target in targets.items()
    ]
    file.write_text("adapters: {a: {type: nomad}}\nautoscalers:\n" + "\n".join(lines))
    with pytest.raises(ConfigError, match="is already scaled by the autoscaler on line 3"):
        load(file, judge=True)


def test_two_connections_to_one_place_do_not_scale_one_target(tmp_path: Path) -> None:
    file = tmp_path / "autoscaler.yaml"
    one = "  - {{name: {0}, scaleTargetRef: {{adapter: {0}, name: j/g}}, maxReplicas: 2, metrics: [{1}]}}"
    lines = [one.format(name, GOOD_METRIC) for name in ("a", "b", "c")]
    here, there = "{type: nomad, address: 'http://here:4646'}", "{type: nomad, address: 'http://there:4646'}"
    file.write_text(f"adapters: {{a: {here}, b: {here}, c: {there}}}\nautoscalers:\n" + "\n".join(lines))
    with pytest.raises(ConfigError) as caught:
        load(file, judge=True)
    (problem,) = caught.value.problems
    assert "b/j/g is already scaled by the autoscaler on line 3" in str(problem)


def test_a_mistake_in_an_aliased_block_is_reported_once(tmp_path: Path) -> None:
    """The block is written once, however many aliases use it."""
    file = tmp_path / "autoscaler.yaml"
    names = [f"w{index}" for index in range(20)]
    lines = [
        f"  - {{name: {name}, scaleTargetRef: {{adapter: a, name: j/{name}}}, maxReplicas: 2, "
        f"metrics: [{GOOD_METRIC}], behavior: {'&b {scaleDown: {policies: []}}' if name == 'w0' else '*b'}}}"
        for name in names
    ]
    file.write_text("adapters: {a: {type: groups}}\nautoscalers:\n" + "\n".join(lines))
    with pytest.raises(ConfigError) as caught:
        load(file, judge=True)
    assert [problem.path for problem in caught.value.problems] == ["autoscalers[0].behavior.scaleDown.policies"]
