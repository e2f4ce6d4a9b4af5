"""The recorded answers of the real controller, as a test and as a command."""

import gzip
import json
from collections import Counter
from collections.abc import Iterable
from functools import lru_cache
from itertools import islice
from pathlib import Path

import pytest

from autoscaler.rules import RULES
from tests.conformance.__main__ import main
from tests.conformance.compare import HPA_ALONE, WHOLE, Pipeline, compare, differences, play
from tests.conformance.inert import INERT, Inert
from tests.conformance.scenario import Scenario, read, read_of_containers

DATA = Path(__file__).parent / "data"
FIRST, SECOND = DATA / "hpa-1.36.jsonl.gz", DATA / "hpa-1.37.jsonl.gz"
_TURNS = len(INERT) // 2
"""After so many scenarios, the same two rules have their turn again."""


def first_scenario() -> dict[str, object]:
    with gzip.open(FIRST, "rt") as lines:
        scenario: dict[str, object] = json.loads(next(lines))
    return scenario


@lru_cache
def some(file: Path) -> list[Scenario]:
    return list(islice(read(file), 60))


def differing(scenarios: Iterable[Scenario], pipeline: Pipeline) -> list[str]:
    return [str(each) for scenario in scenarios for each in differences(scenario, pipeline)]


def differing_with(rule: Inert, scenarios: Iterable[Scenario]) -> tuple[int, list[str]]:
    """Return how many scenarios the rule applies to, and where their answers differ."""
    applied, found = 0, list[str]()
    for scenario in scenarios:
        decisions = play(scenario, rule.pipeline)
        if rule.applies(scenario, decisions):
            applied += 1
            found += [str(each) for each in compare(scenario, decisions) if each.field in rule.fields]
    return applied, found


both_files = pytest.mark.parametrize("file", [FIRST, SECOND], ids=lambda file: file.name)
both_pipelines = pytest.mark.parametrize("pipeline", [HPA_ALONE, WHOLE], ids=["hpa", "whole"])
each_rule = pytest.mark.parametrize("rule", INERT)


@both_files
@both_pipelines
def test_some_of_the_recorded_answers_of_the_real_controller_agree(file: Path, pipeline: Pipeline) -> None:
    """At once, before the whole takes its seconds."""
    assert differing(some(file), pipeline) == []


@both_files
@pytest.mark.parametrize("count", [20, pytest.param(150, marks=pytest.mark.slow)])
def test_a_containers_resource_is_decided_as_an_instances(file: Path, count: int) -> None:
    """No scenario was recorded with one."""
    derived = list(islice(read_of_containers(file), count))
    failed = [step for one in derived for step in one.steps if "ContainerResource" in str(step.expect)]
    assert (len(derived), len(failed) > count // 3) == (count, True)
    assert differing(derived, WHOLE) == []


@both_files
@each_rule
def test_a_rule_that_cannot_act_changes_nothing_in_some(file: Path, rule: str) -> None:
    """What an operator adds must leave HPA's decision alone until it has something to say."""
    applied, found = differing_with(INERT[rule], some(file)[:20])
    assert (found, applied > 10) == ([], True)


@pytest.mark.slow
@pytest.mark.parametrize(("file", "steps"), [(FIRST, 24_329), (SECOND, 36_309)], ids=["1.36", "1.37"])
def test_every_recorded_answer_of_the_real_controller_agrees(file: Path, steps: int) -> None:
    """The promise of the whole project: HPA's decisions, exactly. Also without the code of any rule, and with rules.

    A scenario is read once for all of these, because to read it takes longer than to decide it. Each has two of the
    rules in turn, because to play all of them takes minutes.
    """
    names, seen, applied, found = list(INERT), Counter[str](), Counter[str](), list[str]()
    for number, scenario in enumerate(read(file)):
        seen += Counter(scenarios=1, steps=len(scenario.steps))
        for pipeline, with_what in ((WHOLE, "no rule"), (HPA_ALONE, "HPA alone")):
            found += [f"{with_what}: {each}" for each in differing([scenario], pipeline)]
        for name in names[number % _TURNS :: _TURNS]:
            applies, differs = differing_with(INERT[name], [scenario])
            applied[name] += applies
            found += [f"{name}: {each}" for each in differs]
    assert found == []
    assert seen == {"scenarios": 1500, "steps": steps}
    assert {name for name in names if applied[name] < 120} == set(), "rules that are tried too little"


def test_each_rule_is_tried() -> None:
    """A new rule is added to the list."""
    assert {rule.name for rule in RULES} <= set(INERT)


def test_the_command_counts_what_agrees(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    scenario = first_scenario()
    file = tmp_path / "right.jsonl"
    file.write_text(json.dumps(scenario) + "\n" + json.dumps(scenario) + "\n")
    assert main([str(file)]) == 0
    steps = 2 * len(scenario["steps"])  # type: ignore[arg-type]  # plain JSON
    assert capsys.readouterr().out == f"2 scenarios, {steps} steps, 0 differ\n"


@pytest.mark.parametrize(
    ("field", "wrong"),
    [
        ("scaleTo", 99),
        ("currentReplicas", 99),
        ("desiredReplicas", 99),
        ("conditions", []),
        ("events", [{"type": "Normal", "reason": "Surprise"}]),
        ("currentMetrics", []),
        ("error", True),
    ],
)
def test_a_wrong_answer_in_any_field_is_found(
    field: str, wrong: object, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A comparison that cannot fail would prove nothing."""
    scenario = first_scenario()
    scenario["steps"][0]["expect"][field] = wrong  # type: ignore[index]  # plain JSON
    file = tmp_path / "wrong.jsonl"
    file.write_text(json.dumps(scenario) + "\n")
    assert main([str(file)]) == 1
    out = capsys.readouterr().out
    assert " 1 differ\n" in out
    assert f"step 0 {field}: expected" in out


def test_a_file_that_is_no_scenario_file_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "empty.jsonl"
    file.write_text("{}\n")
    assert main([str(file)]) == 2
    assert f"{file}: no scenario file" in capsys.readouterr().err
