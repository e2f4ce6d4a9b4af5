"""`autoscaler diff` and `autoscaler check --print`."""

import json
from pathlib import Path

import yaml

from tests.cli.scene import Scene
from tests.config.normalized import FILE, file


def other(folder: Path, *changes: tuple[str, str]) -> str:
    text = FILE
    for before, after in changes:
        assert before in text
        text = text.replace(before, after, 1)
    path = folder / "new.yaml"
    path.write_text(text)
    return str(path)


def test_each_key_with_another_value_is_shown_with_both(offline: Scene, tmp_path: Path) -> None:
    """Without a daemon. The file before is not printed as a whole."""
    new = other(tmp_path, ("value: 1", "value: 2"), ("localhost/first", "localhost/second"))
    said = offline.run("diff", new, "--against", str(file(tmp_path)))
    assert (said.code, said.err) == (0, "")
    assert [line.split("   ")[0] for line in said.lines] == [
        "KEY",
        "autoscalers[web].metrics[load].external.target.value",
        "notify.webhook.url",
    ]
    assert said.lines[1].split()[1:] == ["1", "2"]
    assert said.lines[2].count("(not shown)") == 2


def test_the_same_meaning_is_said_in_one_line(offline: Scene, tmp_path: Path) -> None:
    """The operator knows that a reload changes nothing."""
    new = other(tmp_path, ("retention: 7d", "retention: 168h"))
    said = offline.run("diff", new, "--against", str(file(tmp_path)))
    assert (said.code, said.out) == (0, f"{new} means the same as {tmp_path}/autoscaler.yaml\n")


def test_the_exit_code_says_whether_something_changes(offline: Scene, tmp_path: Path) -> None:
    """As with `git diff --exit-code`, for a pipeline that loads a file only if necessary. A failure is 2."""
    own, new = str(file(tmp_path)), other(tmp_path, ("value: 1", "value: 2"))
    assert offline.run("diff", own, "--against", own, "--exit-code").code == 0
    assert offline.run("diff", new, "--against", own, "--exit-code").code == 1
    assert offline.run("diff", str(tmp_path / "none.yaml"), "--against", own, "--exit-code").code == 2


def test_json_has_the_same(offline: Scene, tmp_path: Path) -> None:
    new = other(tmp_path, ("name: web\n    scale", "name: shop\n    scale"))
    found = json.loads(offline.run("diff", new, "--against", str(file(tmp_path)), "-o", "json").out)
    assert [each["path"] for each in found["changes"]] == ["autoscalers[web]", "autoscalers[shop]"]
    assert found["changes"][1]["before"] is None
    assert found["changes"][1]["after"]["maxReplicas"] == 9


def test_an_invalid_file_is_shown_with_all_its_errors(offline: Scene, tmp_path: Path) -> None:
    said = offline.run("diff", other(tmp_path, ("maxReplicas: 9", "maxReplicas: 0")), "--against", str(file(tmp_path)))
    assert (said.code, said.out) == (1, "")
    assert "autoscalers[0].maxReplicas" in said.err


def test_check_prints_the_normalized_file_alone(offline: Scene, tmp_path: Path) -> None:
    """Another program reads it. A secret is not in it; the errors of a wrong file are on standard error."""
    said = offline.run("check", "--print", str(file(tmp_path)))
    assert (said.code, said.err) == (0, "")
    found = yaml.safe_load(said.out)
    assert found["controller"]["syncPeriod"] == "15s"
    assert found["log"] == {"decisions": "changed"}
    assert "first" not in said.out
    wrong = offline.run("check", "--print", other(tmp_path, ("maxReplicas: 9", "maxReplicas: 0")))
    assert (wrong.code, wrong.out) == (1, "")
    assert "autoscalers[0].maxReplicas" in wrong.err
