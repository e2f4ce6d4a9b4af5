"""`autoscaler export` and `autoscaler replay --case`."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.scene import Result, Scene
from tests.whatif.commands.test_replay import candidate


def exported(scene: Scene, folder: Path, *options: str) -> Path:
    file = folder / "web.jsonl.gz"
    said = scene.run("export", "web", "--output-file", str(file), *options)
    assert (said.code, said.err) == (0, "")
    assert said.out.startswith(f"{file}: 4 cycles, ")
    return file


@pytest.mark.parametrize("scene", ["offline", "online"])
@pytest.mark.parametrize("options", [(), ("--anonymize",)])
def test_a_case_gives_the_same_decisions_on_any_machine(
    scene: str, options: tuple[str, ...], request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    """Without the state that it comes from."""
    file = exported(request.getfixturevalue(scene), tmp_path, *options)
    elsewhere: Scene = request.getfixturevalue("offline")
    said = elsewhere.run("replay", "--case", str(file), STATE_DIRECTORY=str(tmp_path / "none"))
    assert (said.code, said.err) == (0, "")
    assert "4 of 4 recorded decisions are the same when decided again" in said.out
    assert "from the case web.jsonl.gz: 4 cycles" in said.out


def test_a_candidate_can_be_tried_on_a_case(offline: Scene, tmp_path: Path) -> None:
    file = exported(offline, tmp_path)
    said = offline.run("replay", "--case", str(file), "--candidate", candidate(tmp_path, maxReplicas=4))
    assert said.code == 0
    assert "new.yaml web" in said.out
    said = offline.run("replay", "never-ran", "--case", str(file), "--candidate", candidate(tmp_path))
    assert "new.yaml never-ran" in said.out


def test_a_different_decision_is_exit_code_1(offline: Scene, tmp_path: Path) -> None:
    file = exported(offline, tmp_path)
    lines = [json.loads(line) for line in gzip.decompress(file.read_bytes()).splitlines()]
    lines[0]["program"] = "0.0.1"
    lines[-1]["cycle"]["decision"]["desired"] = 9
    file.write_bytes(gzip.compress("".join(json.dumps(line) + "\n" for line in lines).encode()))
    said = offline.run("replay", "--case", str(file))
    assert said.code == 1
    assert "3 of 4 recorded decisions are the same when decided again" in said.out
    assert "difference: the decision differs from the record: desired; desired 6 for 9" in said.out
    assert "is of version 0.0.1; this is" in said.err


def test_an_unreadable_case_is_an_error_without_a_traceback(offline: Scene, tmp_path: Path) -> None:
    (tmp_path / "text").write_text("hello")
    said = offline.run("replay", "--case", str(tmp_path / "text"))
    assert (said.code, said.out) == (1, "")
    assert said.err == f"{tmp_path / 'text'} is not a case, or damaged: it is not gzip's\n"


def test_a_case_without_a_cycle_has_nothing_to_replay(offline: Scene, tmp_path: Path) -> None:
    """A file that was cut after its first line and compressed again."""
    file = exported(offline, tmp_path)
    file.write_bytes(gzip.compress(gzip.decompress(file.read_bytes()).splitlines(keepends=True)[0]))
    said = offline.run("replay", "--case", str(file))
    assert (said.code, said.out) == (1, "")
    assert "autoscaler 'web': no cycle is known" in said.err


def test_a_case_that_cannot_be_explained_is_an_error(offline: Scene, tmp_path: Path) -> None:
    """The period of a policy ends after the last year that exists."""
    policy = {"type": "Pods", "value": 1, "period": "P999999999D"}
    rules = {"stabilization_window": "PT0S", "select_policy": "Max", "policies": [policy]}
    said = reported(offline, tmp_path, 1, configuration={"behavior": {"scale_down": rules}})
    assert said.code == 1
    assert "nothing can be made of its values: OverflowError" in said.err


def test_a_report_has_a_question_mark_for_a_lone_surrogate(offline: Scene, tmp_path: Path) -> None:
    said = reported(offline, tmp_path, 0, autoscaler="web\ud800")
    assert (said.code, said.err) == (0, "")
    assert "web?" in (tmp_path / "report.html").read_text()


def reported(scene: Scene, folder: Path, number: int, **values: Any) -> Result:
    """`replay` of a case with other values in one of its lines, with a report."""
    file = exported(scene, folder)
    lines = [json.loads(line) for line in gzip.decompress(file.read_bytes()).splitlines()]
    for key, value in values.items():
        lines[number][key] = lines[number][key] | value if isinstance(value, dict) else value
    file.write_bytes(gzip.compress("".join(json.dumps(line) + "\n" for line in lines).encode()))
    return scene.run("replay", "--case", str(file), "--html", str(folder / "report.html"))


def test_contradictory_options_are_refused(offline: Scene, tmp_path: Path) -> None:
    file = str(exported(offline, tmp_path))
    assert offline.run("replay", "--case", file, "--since", "1h").code == 2
    assert offline.run("replay", "web", "--case", file).code == 2
    assert offline.run("export", "web", "--output-file", file, "--since", "1h", "--until", "2h").code == 2
    assert offline.run("export", "web").code == 2


def test_an_unknown_name_is_an_error_with_a_suggestion(offline: Scene, tmp_path: Path) -> None:
    said = offline.run("export", "wbe", "--output-file", str(tmp_path / "case"))
    assert (said.code, said.err) == (1, "there is no autoscaler 'wbe'; did you mean web?\n")


def test_a_time_without_cycles_writes_no_file(offline: Scene, tmp_path: Path) -> None:
    said = offline.run("export", "web", "--output-file", str(tmp_path / "case"), "--since", "48h", "--until", "24h")
    assert said.code == 1
    assert "no cycle of that time" in said.err
    assert not (tmp_path / "case").exists()
