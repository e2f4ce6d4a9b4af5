"""The recorded answers of the real controller, as a test and as a command."""

import gzip
import json
from itertools import islice
from pathlib import Path

import pytest

from tests.conformance.__main__ import main
from tests.conformance.compare import differences
from tests.conformance.scenario import read

DATA = Path(__file__).parent / "data"
FIRST, SECOND = DATA / "hpa-1.36.jsonl.gz", DATA / "hpa-1.37.jsonl.gz"


def first_scenario() -> dict[str, object]:
    with gzip.open(FIRST, "rt") as lines:
        scenario: dict[str, object] = json.loads(next(lines))
    return scenario


@pytest.mark.parametrize("file", [FIRST, SECOND], ids=lambda file: file.name)
def test_a_tenth_of_the_recorded_answers_of_the_real_controller_agrees(file: Path) -> None:
    """At once, before the whole takes its seconds."""
    scenarios = islice(read(file), 150)
    assert [str(each) for scenario in scenarios for each in differences(scenario)] == []


@pytest.mark.slow
@pytest.mark.parametrize(("file", "steps"), [(FIRST, 24_329), (SECOND, 36_309)], ids=["1.36", "1.37"])
def test_every_recorded_answer_of_the_real_controller_agrees(
    file: Path, steps: int, capsys: pytest.CaptureFixture[str]
) -> None:
    """The promise of the whole project: HPA's decisions, exactly."""
    code = main([str(file)])
    assert capsys.readouterr().out == f"1500 scenarios, {steps} steps, 0 differ\n"
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
