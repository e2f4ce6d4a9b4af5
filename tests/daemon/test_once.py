"""`--once`, and what `run` exits with."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.daemon.hanging import install
from tests.daemon.running import autoscaler, command, finished, run_once, write_config

pytestmark = pytest.mark.slow


def decisions(done: subprocess.CompletedProcess[str]) -> list[dict[str, Any]]:
    return [line for line in map(json.loads, done.stderr.splitlines()) if line["event"] == "decision"]


def test_a_single_cycle_in_which_all_went_well_is_0(folder: Path, prometheus: str) -> None:
    """One decision for each autoscaler, whatever their periods."""
    scalers = [autoscaler("web", "vector(3)"), autoscaler("queue", "vector(1)", syncPeriod="5m")]
    done = run_once(write_config(folder, prometheus, scalers))
    assert done.returncode == 0
    assert {line["autoscaler"]: line["written"] for line in decisions(done)} == {"web": 3, "queue": None}
    assert done.stdout == ""


def test_an_expression_that_only_the_server_knows_costs_its_own_autoscaler_at_most(
    folder: Path, prometheus: str
) -> None:
    """It is no reason not to start: the server may take it, and where it does not, that is said of this one alone."""
    scalers = [
        autoscaler("taken", "vector(3) or sum by (anchored) (x)"),
        autoscaler("refused", "fresh_function(vector(3))"),
        autoscaler("web", "vector(2)"),
    ]
    done = run_once(write_config(folder, prometheus, scalers))
    assert done.returncode == 1
    assert {line["autoscaler"]: line["written"] for line in decisions(done)} == {"taken": 3, "refused": None, "web": 2}
    warned = [line for line in map(json.loads, done.stderr.splitlines()) if line["event"] == "expression_not_checked"]
    assert [line["level"] for line in warned] == ["warning", "warning"]
    assert "autoscalers[0].metrics[0].external.query.expr: the offline parser cannot read it" in warned[0]["message"]


def test_a_write_that_hangs_is_1_and_comes_back(folder: Path, prometheus: str) -> None:
    """A thread that never ends must not keep the process."""
    scalers = [autoscaler("stuck", "vector(3)", adapter="third")]
    config = write_config(folder, prometheus, scalers, {"third": {"type": "hanging", "where": "scale"}})
    done = run_once(config, env=install(folder))
    assert done.returncode == 1
    assert "shard_hung" in done.stderr


def test_a_dry_run_that_proposes_is_0(folder: Path, prometheus: str) -> None:
    """A proposal is what was asked for."""
    done = run_once(write_config(folder, prometheus, [autoscaler("web", "vector(3)")]), "--dry-run")
    assert done.returncode == 0
    (line,) = decisions(done)
    assert (line["desired"], line["written"], line["dry_run"]) == (3, None, True)


@pytest.mark.parametrize("arguments", [("--once",), ()], ids=["once", "daemon"])
def test_a_configuration_that_does_not_load_is_2(folder: Path, prometheus: str, arguments: tuple[str, ...]) -> None:
    """Every problem with its place, on a line of its own, as `check` prints it."""
    config = write_config(folder, prometheus, [autoscaler("web", "vector(3", maxReplicas=0)])
    done = finished(command(config, *arguments), folder / "state")
    assert done.returncode == 2
    lines = done.stderr.splitlines()
    assert len(lines) >= 2
    assert all(line.startswith(f"{config}:") for line in lines)


@pytest.mark.parametrize("argument", ["--unknown", "--log.level=loud"])
def test_wrong_arguments_are_2(folder: Path, argument: str) -> None:
    """As every command line has it."""
    assert run_once(folder / "autoscaler.yaml", argument).returncode == 2


def test_a_state_folder_that_cannot_be_made_is_1_and_a_sentence(folder: Path, prometheus: str) -> None:
    """A plain file stands where the folder should."""
    (folder / "file").write_text("")
    config = write_config(folder, prometheus, [autoscaler("web", "vector(3)")])
    done = run_once(config, state=folder / "file" / "state")
    assert done.returncode == 1
    assert "set $STATE_DIRECTORY" in done.stderr
    assert "Traceback" not in done.stderr


def test_on_a_terminal_a_decision_is_columns(folder: Path, prometheus: str) -> None:
    """`script` gives it one."""
    config = write_config(folder, prometheus, [autoscaler("web", "vector(3)")])
    line = " ".join(command(config, "--once"))
    done = finished(
        ["script", "--quiet", "--return", "--command", line, "/dev/null"],
        folder / "state",
        {"COLUMNS": "160", "TERM": "xterm"},
    )
    assert done.returncode == 0
    assert "▲ 1 → 3" in done.stdout
    assert "SucceededRescale" in done.stdout
    assert "{" not in done.stdout


def test_the_project_runs_as_a_module(tmp_path: Path) -> None:
    """`python -m autoscaler run --help` names every option."""
    words = [sys.executable, "-m", "autoscaler", "run", "--help"]
    done = finished(words, tmp_path, {"COLUMNS": "120", "NO_COLOR": "1"})
    assert done.returncode == 0
    for option in ("--config.file", "--dry-run", "--once", "--log.level", "--log.format"):
        assert option in done.stdout
