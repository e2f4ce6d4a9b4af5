"""`autoscaler status`. tests/daemon/test_hosts.py tests it with several daemons."""

import json
from datetime import timedelta
from pathlib import Path

import pytest

from autoscaler.cli.status import status_lines
from autoscaler.layout import Screen
from autoscaler.view.hosts import HostList, StatusDocument
from autoscaler.view.level import Level
from autoscaler.view.status import ConnectionStatus, DaemonStatus, GrantStatus, ReloadStatus, SourceStatus
from tests.cli.scene import UNREACHABLE, Scene, ServedScene, served_scene
from tests.decisions import NOW


def daemon(**changes: object) -> DaemonStatus:
    hung = ConnectionStatus(
        name="fleet",
        type="nomad",
        level=Level.WARNING,
        shards=4,
        hung=1,
        superseded=2,
        missed_ticks=0,
        removal_budget=None,
        removals_left=None,
        max_total=None,
        total_size=None,
        last_cycle=NOW - timedelta(seconds=9),
        last_success=None,
        last_failure=None,
        error=None,
    )
    made = DaemonStatus(
        version="1.2.3",
        started=NOW - timedelta(hours=3),
        configuration="/etc/autoscaler.yaml",
        autoscalers=2,
        level=Level.WARNING,
        problems=(),
        last_reload=ReloadStatus(at=NOW, successful=True, problem=None, problems=0),
        sources=(),
        connections=(hung,),
    )
    return made.model_copy(update=changes)


def shown(daemon: DaemonStatus) -> list[str]:
    hosts = HostList(shared=False, at=NOW, leader=None, standbys=())
    return list(status_lines(StatusDocument(daemon=daemon, hosts=hosts), 0, Screen()))


def test_the_daemon_is_shown(online: ServedScene) -> None:
    """Its state is SQLite, which no other daemon shares."""
    said = online.run("status")
    assert said.code == 0
    titles = [line.split(":")[0] for line in said.lines[:5]]
    assert titles == ["Version", "Started", "Configuration", "Autoscalers", "State"]
    assert "DAEMON" not in said.out


def test_failing_autoscalers_are_counted(online: ServedScene, monkeypatch: pytest.MonkeyPatch) -> None:
    """The daemon and its servers can be well while no autoscaler has a metric; `get` has the same word."""
    assert "Autoscalers:    3, 1 failing" in online.run("status").lines
    assert "failing" in next(line for line in online.run("get", "-o", "wide").lines if line.startswith("broken "))
    kept = [each for each in online.daemon.scalers if each.name != "broken"]
    monkeypatch.setattr(online.daemon, "scalers", kept)
    assert "Autoscalers:    2" in online.run("status").lines, "the state remembers a removed one"


def test_a_state_that_cannot_be_read_hides_no_status(tmp_path: Path) -> None:
    """The status says what is wrong with the state."""
    with served_scene(tmp_path) as scene:
        (tmp_path / "state.db").rename(tmp_path / "elsewhere.db")
        said = scene.run("status")
    assert said.code == 0
    assert "Autoscalers:    3, how many fail is unknown" in said.lines


def test_the_row_of_a_connection_counts_its_hung_shards() -> None:
    """Their targets are not scaled."""
    header, row = shown(daemon())[-2:]
    assert header.split()[:4] == ["CONNECTION", "TYPE", "STATE", "SHARDS"]
    assert row.split("   ")[:1] == ["fleet"]
    assert "4, 1 hung, 2 superseded" in row
    assert "9s ago" in row


def test_a_lost_lease_is_shown() -> None:
    """The daemon runs and scales nothing."""
    assert "Lease:          lost; nothing is scaled" in shown(daemon(lease_lost=True))
    assert not any("Lease" in line for line in shown(daemon()))


def test_refused_files_are_named_below_their_grant() -> None:
    """A team finds its mistake without the daemon's log."""
    shop = GrantStatus(name="shop", autoscalers=1, refused=2, problems=("web.yaml:2:1: it is wrong\x1b",))
    lines = shown(daemon(grants=(shop,)))
    assert lines[-3:] == ["", "grant shop: 1 autoscaler, 2 refused", "  web.yaml:2:1: it is wrong\\x1b"]


def test_control_characters_in_a_daemons_answer_are_escaped() -> None:
    """Another program may answer at its address."""
    assert all(line.isprintable() for line in shown(daemon(version="1\x1b]0;x\x07")))


def test_without_a_daemon_only_the_hosts_are_shown(offline: Scene) -> None:
    """They come from the state."""
    said = offline.run("status", "-o", "json")
    listed = json.loads(said.out)
    assert (listed["daemon"], listed["hosts"]["shared"], said.code) == (None, False, 1)


def test_a_daemon_that_is_down_is_said_to_be_once(offline: Scene, tmp_path: Path) -> None:
    """A script looks at the exit code, an operator at the screen; also where there is no state to read."""
    for folder in (offline.folder, tmp_path / "no-state"):
        said = offline.run("status", STATE_DIRECTORY=str(folder))
        assert (said.code, said.out) == (1, "")
        assert said.err.count("no daemon answers") == 1
        assert f"no daemon answers at {UNREACHABLE}" in said.err
        assert "this is the last known state" not in said.err


def test_a_prometheus_that_does_not_answer_has_a_row_as_on_the_page() -> None:
    """The reason for metrics without a value is the first thing to look for."""
    down = SourceStatus(
        name="default",
        url="http://localhost:9090",
        level=Level.ERROR,
        last_success=None,
        last_failure=NOW - timedelta(seconds=4),
        error="connection refused",
    )
    header, row = shown(daemon(sources=(down,), connections=()))[-2:]
    assert header.split() == ["PROMETHEUS", "STATE", "LAST", "ANSWER", "LAST", "FAILURE"]
    assert row.split()[:2] == ["default", "error"]
    assert row.endswith("4s ago: connection refused")
