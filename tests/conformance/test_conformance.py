"""The recorded answers of the real controller, as a test and as a command."""

import gzip
import json
from itertools import islice
from pathlib import Path

import pytest

from tests.conformance.__main__ import main
from tests.conformance.compare import differences
from tests.conformance.scenario import read

DATA = Path(__file__).parent / "data" / "hpa-1.36.jsonl.gz"


def first_scenario() -> dict[str, object]:
    with gzip.open(DATA, "rt") as lines:
        scenario: dict[str, object] = json.loads(next(lines))
    return scenario


def test_a_tenth_of_the_recorded_answers_of_the_real_controller_agrees() -> None:
    """At once, before the whole takes its seconds."""
    scenarios = islice(read(DATA), 150)
    assert [str(each) for scenario in scenarios for each in differences(scenario)] == []


@pytest.mark.slow
def test_every_recorded_answer_of_the_real_controller_agrees(capsys: pytest.CaptureFixture[str]) -> None:
    """The promise of the whole project: HPA's decisions, exactly."""
    code = main([str(DATA)])
    assert capsys.readouterr().out == "1500 scenarios, 24329 steps, 0 differ\n"
    assert code == 0


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
