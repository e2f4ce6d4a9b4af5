"""`autoscaler replay` over the state of a daemon."""

import json
import re
from datetime import UTC, datetime, timedelta
from html import unescape
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.cli.scene import Scene
from tests.view.lives import Recorded, open_state


def candidate(folder: Path, **changes: Any) -> str:
    """A file with the scene's autoscaler `web` and these changes."""
    cpu = {
        "name": "cpu",
        "query": {"expr": "vector(0)"},
        "target": {"type": "Utilization", "averageUtilization": 60},
    }
    web = {
        "name": "web",
        "scaleTargetRef": {"adapter": "fleet", "name": "web"},
        "minReplicas": 2,
        "maxReplicas": 10,
        "metrics": [{"type": "Resource", "resource": cpu}],
    }
    settings = {
        "prometheus": {"default": {"url": "http://127.0.0.1:1"}},
        "adapters": {"fleet": {"type": "memory", "groups": {"web": {}, "other": {}}}},
        "autoscalers": [
            web | changes,
            web | {"name": "never-ran", "scaleTargetRef": {"adapter": "fleet", "name": "other"}},
        ],
    }
    path = folder / "new.yaml"
    path.write_text(yaml.safe_dump(settings))
    return str(path)


def columns(out: str) -> dict[str, list[str]]:
    """The rows of the table: measure -> cells."""
    found = [re.split(r" {3,}", line.strip()) for line in out.splitlines()]
    return {cells[0]: cells[1:] for cells in found if len(cells) == 3}


@pytest.mark.parametrize("command", ["offline", "online"])
def test_a_candidate_is_compared_with_the_past(command: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    """While the daemon runs, and without it."""
    scene: Scene = request.getfixturevalue(command)
    said = scene.run("replay", "web", "--candidate", candidate(tmp_path, maxReplicas=4))
    assert said.code == 0
    baseline = tmp_path / "new.yaml"
    assert said.err == (
        f"without --config.file, the state and the limits of what ran are those that {baseline} names\n"
    )
    assert "4 of 4 recorded decisions are the same when decided again" in said.out
    found = columns(said.out)
    assert found["MEASURE"] == ["as it was", "new.yaml"]
    assert found["changes"] == ["1", "1"]
    assert found["time at maximum"] == ["0s (0.0%)", "30s (50.0%)"]
    assert found["instance-hours"][1].endswith("%)")


def test_an_unknown_name_is_an_error_with_a_suggestion(offline: Scene, tmp_path: Path) -> None:
    said = offline.run("replay", "wbe", "--candidate", candidate(tmp_path))
    assert (said.code, said.out) == (1, "")
    assert said.err == f"{tmp_path / 'new.yaml'} has no autoscaler 'wbe'; did you mean `web`?\n"


def test_an_autoscaler_without_a_past_does_not_affect_the_others(offline: Scene, tmp_path: Path) -> None:
    said = offline.run("replay", "--candidate", candidate(tmp_path))
    assert said.code == 1
    assert "as it was" in said.out
    assert "autoscaler 'never-ran': the state has no detail of that time: it has none at all" in said.err


def test_a_time_before_the_state_is_an_error(offline: Scene, tmp_path: Path) -> None:
    file = candidate(tmp_path)
    said = offline.run("replay", "web", "--candidate", file, "--since", "48h", "--until", "24h")
    assert (said.code, said.out) == (1, "")
    assert "its oldest is of" in said.err


def test_a_time_without_a_cycle_is_an_error(offline: Scene, tmp_path: Path) -> None:
    """An empty table with exit code 0 would look like success."""
    file = candidate(tmp_path)
    said = offline.run("replay", "web", "--candidate", file, "--since", "2999-01-01", "--until", "2999-01-02")
    assert (said.code, said.out) == (1, "")
    assert "\nautoscaler 'web': no cycle is known from 2999-01-0" in said.err


def test_too_long_a_time_is_not_read_from_prometheus(offline: Scene, tmp_path: Path) -> None:
    """Every cycle would take memory."""
    times = ("--since", "1975-01-01", "--prometheus", "default")
    said = offline.run("replay", "web", "--candidate", candidate(tmp_path), *times)
    assert (said.code, said.out) == (1, "")
    assert "cycles of 15s, and at most 3,000,000 are read from Prometheus; shorten it with --since" in said.err


def test_a_future_time_is_not_read_from_prometheus(offline: Scene, tmp_path: Path) -> None:
    times = ("--since", "2999-01-01", "--until", "2999-01-02")
    said = offline.run("replay", "web", "--candidate", candidate(tmp_path), *times, "--prometheus", "default")
    assert (said.code, said.out) == (1, "")
    assert said.err.endswith("\nautoscaler 'web': the time is in the future; give another one\n")


@pytest.mark.parametrize(
    "wrong",
    [
        ["--since", "1h", "--until", "2h"],
        ["--since", "soon"],
        ["--since", "9999-01-01", "--until", "9999-12-31T23:59:59Z"],
        ["--start-up", "x"],
        ["--size", "count(up)"],
        ["--candidate", "b.yaml", "--candidate", "c.yaml", "--candidate", "d.yaml"],
    ],
)
def test_invalid_arguments_are_refused(offline: Scene, tmp_path: Path, wrong: list[str]) -> None:
    assert offline.run("replay", "web", "--candidate", candidate(tmp_path), *wrong).code == 2


def test_an_invalid_file_is_shown_with_its_errors(offline: Scene, tmp_path: Path) -> None:
    said = offline.run("replay", "web", "--candidate", candidate(tmp_path, maxReplicas=1))
    assert said.code == 1
    assert "autoscalers[0].maxReplicas" in said.err


def test_a_gap_is_listed_with_its_time(offline: Scene, tmp_path: Path) -> None:
    """The last 24 h are asked for, and the state of the scene is a minute old; on a slow machine, older."""
    said = offline.run("replay", "web", "--candidate", candidate(tmp_path))
    assert "gap: no cycle is known for 23h5" in said.out


def test_json_and_yaml_have_the_same(offline: Scene, tmp_path: Path) -> None:
    asked = ("replay", "web", "--candidate", candidate(tmp_path), "--until", "2030-01-01")
    first = json.loads(offline.run(*asked, "-o", "json").out)["replays"][0]
    assert [each["label"] for each in first["candidates"]] == ["as it was", "new.yaml"]
    assert first["candidates"][0]["measures"]["changes"] == 1
    assert first["fit"]["holds"] is True
    second = yaml.safe_load(offline.run(*asked, "-o", "yaml").out)["replays"][0]
    assert second["candidates"] == first["candidates"]
    assert second["series"] == first["series"]


def test_the_output_names_the_start_up_time_with_its_source(offline: Scene, tmp_path: Path) -> None:
    """In the table, as JSON, and in the report."""
    report = tmp_path / "report.html"
    asked = ("replay", "web", "--candidate", candidate(tmp_path))
    said = offline.run(*asked, "--start-up", "1s", "--html", str(report))
    assert said.code == 0
    text = "An instance is ready 0s after the decision for it (as the state's instances show)."
    assert text in said.out
    assert text in unescape(report.read_text("utf-8"))
    (found,) = json.loads(offline.run(*asked, "--start-up", "1s", "-o", "json").out)["replays"]
    assert found["startUp"] == {"seconds": 0.0, "source": "instances"}


def test_a_model_that_does_not_fit_is_refused(offline: Scene, tmp_path: Path) -> None:
    """Something else set the size, which no simulation knows: any figure of a candidate would be wrong, too."""
    with open_state(tmp_path / "state") as state:
        life = Recorded(state.ledger("fleet"), offline.web.autoscaler, size=2)
        life.now = datetime.now(UTC) - timedelta(minutes=10)
        for size in (2, 9, 4, 9):
            life.size = size
            for _ in range(8):
                life.cpu(60)
    asked = ("replay", "web", "--candidate", candidate(tmp_path))
    said = offline.run(*asked, STATE_DIRECTORY=str(tmp_path / "state"))
    assert said.code == 1
    assert "32 of 32 recorded decisions are the same when decided again" in said.out
    assert "The simulation does not fit this past, so nothing is compared" in " ".join(said.out.split())
    assert "MEASURE" not in said.out
    said = offline.run(*asked, "-o", "json", STATE_DIRECTORY=str(tmp_path / "state"))
    assert said.code == 1
    assert "nothing is compared" in said.err
    (found,) = json.loads(said.out)["replays"]
    assert (found["candidates"], found["series"]["at"], found["fit"]["holds"]) == ([], [], False)


def test_three_candidates_have_a_column_each(offline: Scene, tmp_path: Path) -> None:
    """Files of one name are told apart by their paths."""
    files = []
    for number, folder in enumerate(("a", "b", "c")):
        (tmp_path / folder).mkdir()
        files += ["--candidate", candidate(tmp_path / folder, maxReplicas=4 + number)]
    said = offline.run("replay", "web", *files)
    assert said.code == 0, said.err + said.out
    header = next(line for line in said.lines if "MEASURE" in line)
    assert header.split()[1:] == ["as", "it", "was", *files[1::2]]


def test_a_report_is_written_beside_the_table(offline: Scene, tmp_path: Path) -> None:
    file = tmp_path / "report.html"
    said = offline.run("replay", "web", "--candidate", candidate(tmp_path), "--html", str(file))
    assert said.code == 0
    assert "MEASURE" in said.out
    page = file.read_text("utf-8")
    assert '<h1 id="name-0">Replay of web</h1>' in page
    assert "as it was" in page


def test_a_report_that_cannot_be_written_is_an_error_after_the_table(offline: Scene, tmp_path: Path) -> None:
    file = tmp_path / "nowhere" / "report.html"
    said = offline.run("replay", "web", "--candidate", candidate(tmp_path), "--html", str(file))
    assert said.code == 1
    assert "MEASURE" in said.out
    assert said.err.endswith(f"the report could not be written to {file}: No such file or directory\n")


def test_a_metric_that_the_daemon_did_not_query_has_no_value(offline: Scene, tmp_path: Path) -> None:
    """It is no zero."""
    rate = {"metric": {"name": "rate"}, "query": {"expr": "rate"}, "target": {"type": "Value", "value": 1}}
    file = candidate(tmp_path, metrics=[{"type": "External", "external": rate}])
    said = offline.run("replay", "web", "--candidate", file)
    assert said.code == 0
    assert "unknown: External metric rate: its query was not asked for then" in said.out


def test_the_running_configuration_says_where_the_state_is(offline: Scene, tmp_path: Path) -> None:
    """The state of the candidate is not read."""
    running = candidate(tmp_path)
    moved = tmp_path / "moved.yaml"
    moved.write_text(f"state: {{url: 'sqlite:///{tmp_path}/none/state.db'}}\n" + Path(running).read_text())
    assert offline.run("replay", "web", "--candidate", str(moved)).code == 1
    arguments = ("--candidate", str(moved), "--config.file", running)
    said = offline.run("replay", "web", *arguments)
    assert said.code == 0, said.err
    assert columns(said.out)["MEASURE"] == ["as it was", "moved.yaml"]


def test_without_a_candidate_the_running_configuration_is_replayed(offline: Scene, tmp_path: Path) -> None:
    """That of `--config.file`."""
    said = offline.run("replay", "web", "--config.file", candidate(tmp_path))
    assert said.code == 0, said.err
    assert columns(said.out)["MEASURE"] == ["as it was", "new.yaml"]
