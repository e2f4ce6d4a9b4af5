"""`autoscaler tune` over a real state, in real processes."""

import json
import math
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import yaml

from autoscaler.config import load
from tests.whatif.commands.waving import Waves, slow, waves

pytestmark = pytest.mark.slow
QUICK = ("--candidates", "10", "--keep", "policies", "--keep", "tolerance")
"""Arguments with which a search takes seconds."""


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Waves:
    return waves(tmp_path_factory.mktemp("waves"))


def tuned(world: Waves, *arguments: str) -> Any:
    said = world.run("tune", "web", "--config.file", str(world.file), "-o", "json", *arguments)
    assert (said.code, said.err) == (0, "")
    return json.loads(said.out)


def test_the_choice_is_printed_as_yaml_that_can_replace_the_entry(world: Waves, tmp_path: Path) -> None:
    """It changes nothing but the choice."""
    found = tuned(world, *QUICK, "--max-unserved", "20%")
    assert found["choice"]
    assert found["keepsLimit"]
    assert found["searched"]["choice"]["instanceHours"] < found["searched"]["inForce"]["instanceHours"]
    whole = yaml.safe_load(world.file.read_text())
    whole["autoscalers"][0] = yaml.safe_load(found["yaml"])["autoscalers"][0]
    (tmp_path / "chosen.yaml").write_text(yaml.safe_dump(whole))
    said = world.run("diff", str(tmp_path / "chosen.yaml"), "--against", str(world.file), "--no-replay", "-o", "json")
    (web,) = json.loads(said.out)["autoscalers"]
    assert web["changes"] == found["choice"]
    assert load(tmp_path / "chosen.yaml").autoscalers[0].labels == (("team", "shop"),)


def test_a_refuted_choice_is_not_printed_as_yaml(tmp_path: Path) -> None:
    """One block has fast waves, which a choice for slow ones follows too closely."""
    world = waves(tmp_path, cpu=lambda cycle: 400 + 300 * math.sin(cycle / 2) if 120 <= cycle < 140 else slow(cycle))
    asked = ("--candidates", "24", "--keep", "policies", "--max-unserved", "10%")
    found = tuned(world, *asked)
    held_back = found["heldBack"]
    assert held_back["choice"]["unserved"] > max(held_back["inForce"]["unserved"], 0.1)
    assert len(found["blocks"]) == 4
    assert (found["refuted"], found["yaml"]) == (True, None)
    assert found["choice"]
    said = world.run("tune", "web", "--config.file", str(world.file), *asked)
    assert "Keep what you have: " in said.out
    assert "autoscalers:" not in said.out


def test_the_same_seed_gives_the_same_answer_on_any_number_of_processes(world: Waves) -> None:
    """A score depends on its candidate alone."""
    begin = ("--since", (datetime.now(UTC) - timedelta(minutes=50)).isoformat())
    one, other = (tuned(world, *QUICK, *begin, "--seed", "5", "--processes", count) for count in ("1", "3"))
    assert one == other
    assert tuned(world, *QUICK, *begin, "--seed", "6")["tried"] != one["tried"]


def test_the_text_has_the_best_candidates_and_the_parts_of_the_history(world: Waves) -> None:
    said = world.run("tune", "web", "--config.file", str(world.file), *QUICK, "--max-unserved", "20")
    assert (said.code, said.err) == (0, "")
    assert said.lines[0] == "web"
    assert "at most 20% of the demand unserved" in said.lines[1]
    assert said.lines[2].startswith("Instances: start-up time ")
    assert sum(line.startswith("choice") for line in said.lines) == 1
    assert any(line.startswith("held back, ") for line in said.lines)
    assert any(line.startswith("In the worst of the 4 blocks that were held back, ") for line in said.lines)
    assert "autoscalers:" in said.lines
    assert "less than a day" in said.out


def test_leaving_instances_are_paid_for(world: Waves) -> None:
    """The output names the time."""
    begin = ("--since", (datetime.now(UTC) - timedelta(minutes=50)).isoformat())
    at_once = tuned(world, *QUICK, *begin, "--termination", "0")
    later = tuned(world, *QUICK, *begin, "--termination", "2m")
    assert later["termination"] == {"seconds": 120.0, "source": "given"}
    for part in ("searched", "heldBack"):
        assert later[part]["inForce"]["instanceHours"] > at_once[part]["inForce"]["instanceHours"]


def test_a_limit_that_no_candidate_keeps_is_named(world: Waves) -> None:
    said = world.run("tune", "web", "--config.file", str(world.file), "--candidates", "3", "--max-unserved", "0%")
    assert said.code == 0
    assert "No candidate keeps the limit of 0%" in said.out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nobody"], "there is no autoscaler 'nobody'"),
        (["jobs"], "autoscaler 'jobs': the state has no detail of that time"),
        (["web", "--since", "3m"], "at least 120 are needed: look further back with --since"),
    ],
)
def test_an_autoscaler_that_cannot_be_tuned_is_an_error_with_the_reason(
    world: Waves, arguments: list[str], message: str
) -> None:
    said = world.run("tune", *arguments, "--config.file", str(world.file))
    assert (said.code, said.out) == (1, "")
    assert message in said.err


def test_a_query_without_history_is_named(world: Waves) -> None:
    file = world.edited("expr: vector(0)", "expr: vector(1)", "other.yaml")
    said = world.run("tune", "web", "--config.file", file)
    assert said.code == 1
    assert "vector(1)" in said.err


@pytest.mark.parametrize(
    "wrong",
    [
        ["--max-unserved", "101%"],
        ["--max-unserved", "few"],
        ["--since", "1h", "--until", "2h"],
        ["--candidates", "0"],
        ["--processes", "0"],
        ["--start-up", "soon"],
        ["--termination", "soon"],
        ["--keep", "everything"],
        ["--keep", "target", "--keep", "stabilization", "--keep", "tolerance", "--keep", "policies"],
    ],
)
def test_invalid_arguments_are_refused(world: Waves, wrong: list[str]) -> None:
    assert world.run("tune", "web", "--config.file", str(world.file), *wrong).code == 2
