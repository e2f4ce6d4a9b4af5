"""Two configurations side by side over a real state: `replay --against` and `diff`."""

import json
from pathlib import Path

import pytest

from tests.whatif.commands.waving import Waves, waves

SLOW, QUICK = "stabilizationWindowSeconds: 300", "stabilizationWindowSeconds: 0"


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Waves:
    return waves(tmp_path_factory.mktemp("waves"))


@pytest.fixture(scope="module")
def quick(world: Waves) -> str:
    """The configuration with another window for `web`."""
    return world.edited(SLOW, QUICK)


def test_both_configurations_have_a_column(world: Waves, quick: str) -> None:
    """After the recorded sizes; that of --against comes first."""
    said = world.run("replay", "web", "--candidate", quick, "--against", str(world.file))
    assert said.code == 0
    header = next(line for line in said.lines if line.lstrip().startswith("MEASURE"))
    assert header.split("   ")[-1].strip() == "new.yaml"
    assert header.index("as it was") < header.index("autoscaler.yaml") < header.index("new.yaml")
    assert "by the metrics and targets of autoscaler.yaml, for all columns" in said.out


def test_differences_have_both_sizes_and_reasons(world: Waves, quick: str) -> None:
    """Only one keeps its size in the window."""
    said = world.run("replay", "web", "--candidate", quick, "--against", str(world.file), "-o", "json")
    (web,) = json.loads(said.out)["replays"]
    assert web["divergences"]
    assert web["moreDivergences"] == 0
    first = web["divergences"][0]
    slow, fast = first["causes"]
    assert slow["reason"] == "ScaleDownStabilized"
    assert first["first"][0] > first["first"][1]
    assert fast["after"] == first["first"][1]
    text = world.run("replay", "web", "--candidate", quick, "--against", str(world.file)).out
    assert "Where they differ" in text
    assert "autoscaler.yaml: ScaleDownStabilized, " in text


def test_the_same_configuration_never_differs(world: Waves) -> None:
    """Files with the same name are labelled by their paths."""
    folder = world.file.parent / "copy"
    folder.mkdir()
    copy = folder / world.file.name
    copy.write_text(world.file.read_text())
    said = world.run("replay", "web", "--candidate", str(world.file), "--against", str(copy))
    assert said.code == 0
    assert f"{copy} and {world.file} never differ: every size is the same." in said.out


def test_the_report_has_the_differences(world: Waves, quick: str, tmp_path: Path) -> None:
    """Names of files are text in it."""
    odd = Path(quick).with_name("<b>new.yaml")
    odd.write_text(Path(quick).read_text())
    file = tmp_path / "report.html"
    arguments = ("--candidate", str(odd), "--against", str(world.file), "--html", str(file))
    assert world.run("replay", "web", *arguments).code == 0
    text = file.read_text()
    section = text[text.index('id="divergences-0"') : text.index(">Findings<")]
    assert "autoscaler.yaml: ScaleDownStabilized, " in section
    assert "&lt;b&gt;new.yaml: " in section
    assert "<b>new" not in text


def test_an_autoscaler_of_one_configuration_is_replayed_alone(world: Waves) -> None:
    other = world.edited("name: web ", "name: old ", "old.yaml")
    said = world.run("replay", "web", "--candidate", str(world.file), "--against", other)
    assert said.code == 0
    assert f"web is not in {other}\n" in said.err
    assert "Where they differ" not in said.out
