"""`--once`, and the exit codes of `run`."""

import json
import re
import socket
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.daemon import running
from tests.daemon.hanging import install
from tests.daemon.running import command, finished, run_command, run_once, run_to_its_end, write_config

pytestmark = pytest.mark.slow


def autoscaler(name: str, query: str, **more: Any) -> dict[str, Any]:
    """Return an autoscaler whose period lets a single cycle succeed on a busy machine."""
    return running.autoscaler(name, query, **{"syncPeriod": "1m"} | more)


def decisions(done: subprocess.CompletedProcess[str]) -> list[dict[str, Any]]:
    return [line for line in map(json.loads, done.stderr.splitlines()) if line["event"] == "decision"]


def test_a_single_cycle_without_a_failure_exits_with_0(folder: Path, prometheus: str) -> None:
    """There is one decision for each autoscaler, whatever its period."""
    scalers = [autoscaler("web", "vector(3)"), autoscaler("queue", "vector(1)", syncPeriod="5m")]
    done = run_once(write_config(folder, prometheus, scalers))
    assert done.returncode == 0
    assert {line["autoscaler"]: line["written"] for line in decisions(done)} == {"web": 3, "queue": None}
    assert done.stdout == ""


def test_an_expression_that_only_the_server_can_check_affects_only_its_own_autoscaler(
    folder: Path, prometheus: str
) -> None:
    """The daemon starts: the server may accept it. If not, only this autoscaler fails."""
    scalers = [
        autoscaler("taken", "vector(3) or sum by (anchored) (x)"),
        autoscaler("refused", "fresh_function(vector(3))"),
        autoscaler("wrong", "sum(rate(x))"),
        autoscaler("web", "vector(2)"),
    ]
    done = run_once(write_config(folder, prometheus, scalers))
    assert done.returncode == 1
    assert {line["autoscaler"]: line["written"] for line in decisions(done)} == {
        "taken": 3,
        "refused": None,
        "wrong": None,
        "web": 2,
    }
    warned = [line for line in map(json.loads, done.stderr.splitlines()) if line["event"] == "expression_not_checked"]
    assert [line["level"] for line in warned] == ["warning"] * 3
    assert "autoscalers[0].metrics[0].external.query.expr: the offline parser cannot read it" in warned[0]["message"]


def test_a_single_cycle_with_a_hanging_write_exits_with_1(folder: Path, prometheus: str) -> None:
    """A thread that never ends must not block the exit."""
    scalers = [autoscaler("stuck", "vector(3)", adapter="third", syncPeriod="1s")]
    config = write_config(folder, prometheus, scalers, {"third": {"type": "hanging", "where": "scale"}})
    done = run_once(config, env=install(folder))
    assert done.returncode == 1
    assert "shard_hung" in done.stderr


def test_a_dry_run_with_a_proposal_exits_with_0(folder: Path, prometheus: str) -> None:
    """A proposal is its purpose."""
    done = run_once(write_config(folder, prometheus, [autoscaler("web", "vector(3)")]), "--dry-run")
    assert done.returncode == 0
    (line,) = decisions(done)
    assert (line["desired"], line["written"], line["dry_run"]) == (3, None, True)


def test_an_invalid_configuration_exits_with_2(folder: Path, prometheus: str) -> None:
    """Every problem has its own line with its place, as `check` prints it."""
    config = write_config(folder, prometheus, [autoscaler("web", "x[5m]", maxReplicas=0)])
    done = run_to_its_end(config)
    assert done.returncode == 2
    lines = done.stderr.splitlines()
    assert len(lines) >= 2
    assert all(line.startswith(f"{config}:") for line in lines)


def test_a_terminal_shows_the_size_and_why_it_changes(folder: Path, prometheus: str) -> None:
    """`script` provides a terminal."""
    config = write_config(folder, prometheus, [autoscaler("web", "vector(3)")])
    line = " ".join(command(config, "--once"))
    done = finished(
        ["script", "--quiet", "--return", "--command", line, "/dev/null"],
        folder / "state",
        {"COLUMNS": "160", "TERM": "xterm"},
    )
    assert done.returncode == 0
    text = re.sub(r"\x1b\[\d*m", "", done.stdout)
    assert re.search(r"▲ 1 +queue 3 of 1 -> 3", text), text
    assert "{" not in done.stdout


@pytest.mark.parametrize("address", ["127.0.0.1:{port}", "127.0.0.1"])
def test_an_unusable_listen_address_leaves_no_state_folder_behind(
    tmp_path: Path, prometheus: str, address: str
) -> None:
    """Later commands of that user would find the folder before the service's. tests/web/test_server.py has more."""
    config = write_config(tmp_path, prometheus, [autoscaler("web", "vector(2)")])
    with socket.create_server(("127.0.0.1", 0)) as taken:
        given = f"--web.listen-address={address.format(port=taken.getsockname()[1])}"
        ended = run_command("run", f"--config.file={config}", given, state=tmp_path / "new")
    assert ended.returncode == 1
    assert address.format(port="")[:9] in ended.stderr
    assert "Traceback" not in ended.stderr
    assert not (tmp_path / "new").exists()
