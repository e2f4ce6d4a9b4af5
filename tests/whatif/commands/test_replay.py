"""`autoscaler replay`: a configuration tried over what a daemon recorded."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.cli.scene import Scene, ServedScene


def candidate(folder: Path, **changes: Any) -> str:
    """A file with the scene's autoscaler `web`, some of it otherwise."""
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
    """The table's rows, by their measures: the cell of each column."""
    found = [re.split(r" {3,}", line.strip()) for line in out.splitlines()]
    return {cells[0]: cells[1:] for cells in found if len(cells) == 3}


@pytest.mark.parametrize("command", ["offline", "online"])
def test_a_candidate_is_set_beside_what_happened(command: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    """Whether or not the daemon runs: the state is read beside it."""
    scene: Scene = request.getfixturevalue(command)
    said = scene.run("replay", "web", "--candidate", candidate(tmp_path, maxReplicas=4), "--load", "recorded")
    assert said.code == 0
    assert said.err.startswith("autoscaler 'web': only what the state has from ")  # its Prometheus does not run
    assert "4 of 4 recorded decisions are the same when decided again" in said.out
    found = columns(said.out)
    assert found["MEASURE"] == ["as it was", "new.yaml"]
    assert found["size"] == ["3 to 6, mean 4.5"] * 2
    assert found["changes"] == ["1", "2"]
    assert found["time at maximum"] == ["0s (0.0%)", "30s (50.0%)"]


def test_a_name_that_is_not_in_the_file_names_the_nearest(offline: Scene, tmp_path: Path) -> None:
    said = offline.run("replay", "wbe", "--candidate", candidate(tmp_path))
    assert (said.code, said.out) == (1, "")
    assert said.err == f"{tmp_path / 'new.yaml'} has no autoscaler 'wbe'; did you mean `web`?\n"


def test_one_without_a_past_costs_itself_alone(offline: Scene, tmp_path: Path) -> None:
    said = offline.run("replay", "--candidate", candidate(tmp_path), "--load", "recorded")
    assert said.code == 1
    assert "as it was" in said.out
    assert "autoscaler 'never-ran': the state has no detail of the time asked for: none of it at all" in said.err


def test_a_time_that_the_state_does_not_reach_is_said(offline: Scene, tmp_path: Path) -> None:
    file = candidate(tmp_path)
    said = offline.run("replay", "web", "--candidate", file, "--since", "48h", "--until", "24h")
    assert (said.code, said.out) == (1, "")
    assert "its oldest is of" in said.err


def test_a_time_without_a_cycle_is_an_error(offline: Scene, tmp_path: Path) -> None:
    """A table without a figure, and exit code 0, would read as if all had been well."""
    file = candidate(tmp_path)
    said = offline.run("replay", "web", "--candidate", file, "--since", "2999-01-01", "--until", "2999-01-02")
    assert (said.code, said.out) == (1, "")
    assert said.err.startswith("autoscaler 'web': no cycle is known from 2999-01-0")


def test_prometheus_is_not_asked_for_half_a_century(offline: Scene, tmp_path: Path) -> None:
    """Every cycle of it would take memory, and a query for some thousand of them an answer."""
    said = offline.run("replay", "web", "--candidate", candidate(tmp_path), "--since", "1975-01-01")
    assert said.code == 0  # what the state has is replayed
    assert "cycles of 15s, and at most 3,000,000 are asked of Prometheus; shorten it with --since" in said.err


def test_prometheus_is_not_asked_for_what_has_not_come_yet(offline: Scene, tmp_path: Path) -> None:
    times = ("--since", "2999-01-01", "--until", "2999-01-02")
    said = offline.run("replay", "web", "--candidate", candidate(tmp_path), *times, "--prometheus", "default")
    assert (said.code, said.out) == (1, "")
    assert said.err == "autoscaler 'web': the time asked for has not come yet; ask for another one\n"


def test_arguments_that_are_wrong_are_refused(online: ServedScene, tmp_path: Path) -> None:
    file = candidate(tmp_path)
    for wrong in (
        ["--since", "1h", "--until", "2h"],
        ["--since", "soon"],
        ["--since", "9999-01-01", "--until", "9999-12-31T23:59:59Z"],
        ["--start-up", "x"],
        ["--termination", "x"],
        ["--load", "heavy"],
    ):
        assert online.run("replay", "web", "--candidate", file, *wrong).code == 2


def test_a_file_that_does_not_load_says_where(offline: Scene, tmp_path: Path) -> None:
    said = offline.run("replay", "web", "--candidate", candidate(tmp_path, maxReplicas=1))
    assert said.code == 1
    assert "autoscalers[0].maxReplicas" in said.err


def test_a_gap_is_listed_with_its_time(offline: Scene, tmp_path: Path) -> None:
    """The state of the scene is a minute old; the last 24 h are asked for."""
    said = offline.run("replay", "web", "--candidate", candidate(tmp_path), "--load", "recorded")
    assert "gap: no cycle is known for 23h59m" in said.out


def test_programs_read_the_same_as_json_and_as_yaml(offline: Scene, tmp_path: Path) -> None:
    asked = ("replay", "web", "--candidate", candidate(tmp_path), "--load", "recorded", "--until", "2030-01-01")
    first = json.loads(offline.run(*asked, "-o", "json").out)["replays"][0]
    assert [each["label"] for each in first["candidates"]] == ["as it was", "new.yaml"]
    assert first["candidates"][0]["measures"]["largest"] == 6
    second = yaml.safe_load(offline.run(*asked, "-o", "yaml").out)["replays"][0]
    assert second["candidates"] == first["candidates"]
    assert second["series"] == first["series"]


def test_the_output_says_which_times_of_instances_were_used(offline: Scene, tmp_path: Path) -> None:
    """And what tells them: in the table, as JSON, and in the report."""
    report = tmp_path / "report.html"
    asked = ("replay", "web", "--candidate", candidate(tmp_path))
    said = offline.run(*asked, "--start-up", "20s")
    times = "Instances: start-up time 20s (given), termination time 0s (none was seen to end)."
    assert times in said.out
    assert offline.run(*asked, "--start-up", "20s", "--html", str(report)).code == 0
    assert times in report.read_text("utf-8")
    (found,) = json.loads(offline.run(*asked, "--termination", "1m", "-o", "json").out)["replays"]
    assert found["termination"] == {"seconds": 60.0, "source": "given"}
    assert [each["startUp"] for each in found["candidates"]] == [None, {"seconds": 60.0, "source": "configuration"}]


def test_a_report_is_written_beside_the_table(offline: Scene, tmp_path: Path) -> None:
    file = tmp_path / "report.html"
    said = offline.run("replay", "web", "--candidate", candidate(tmp_path), "--html", str(file))
    assert said.code == 0
    assert "MEASURE" in said.out
    page = file.read_text("utf-8")
    assert '<h1 id="name-0">Replay of web</h1>' in page
    assert "The size was 3 and was set to 6." in page


def test_a_report_that_cannot_be_written_fails_and_leaves_the_table(offline: Scene, tmp_path: Path) -> None:
    file = tmp_path / "nowhere" / "report.html"
    said = offline.run("replay", "web", "--candidate", candidate(tmp_path), "--html", str(file))
    assert said.code == 1
    assert "MEASURE" in said.out
    assert said.err.endswith(f"the report could not be written to {file}: No such file or directory\n")


def test_a_metric_that_the_daemon_did_not_ask_for_is_asked_of_prometheus(offline: Scene, tmp_path: Path) -> None:
    """Where that gives no answer, it has no value, and the reason is said."""
    queue = {"metric": {"name": "queue"}, "query": {"expr": "queue"}, "target": {"type": "Value", "value": 1}}
    file = candidate(tmp_path, metrics=[{"type": "External", "external": queue}])
    said = offline.run("replay", "web", "--candidate", file)
    assert said.code == 0
    assert said.err.startswith("autoscaler 'web': External metric queue: nothing is known of it, as the daemon did not")
    assert "unknown: External metric queue: its query was not asked for then" in said.out


def test_the_running_configuration_says_where_the_state_is(offline: Scene, tmp_path: Path) -> None:
    """A candidate may name another state, which is not read."""
    running = candidate(tmp_path)
    moved = tmp_path / "moved.yaml"
    moved.write_text(f"state: {{url: 'sqlite:///{tmp_path}/none/state.db'}}\n" + Path(running).read_text())
    assert offline.run("replay", "web", "--candidate", str(moved), "--load", "recorded").code == 1
    arguments = ("--candidate", str(moved), "--config.file", running, "--load", "recorded")
    said = offline.run("replay", "web", *arguments)
    assert said.code == 0, said.err
    assert columns(said.out)["MEASURE"] == ["as it was", "moved.yaml"]


def test_without_a_candidate_the_running_configuration_is_replayed(offline: Scene, tmp_path: Path) -> None:
    """As `check`, `tune` and `diff` take it from `--config.file`."""
    said = offline.run("replay", "web", "--config.file", candidate(tmp_path), "--load", "recorded")
    assert said.code == 0, said.err
    assert columns(said.out)["MEASURE"] == ["as it was", "new.yaml"]
