"""The folders of teams beside a running daemon: changed files are followed, wrong ones cost no neighbour."""

import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.daemon.running import LATE, RunningDaemon, autoscaler, running_daemon, write_config

pytestmark = pytest.mark.slow

TEAMS = ("pay", "shop")


def scaler(name: str, size: int, **more: Any) -> dict[str, Any]:
    body = autoscaler(name, f"vector({size})", "groups", **more)
    body["metrics"][0]["external"]["query"]["prometheus"] = name.partition("-")[0]
    del body["syncPeriod"]
    return body


class Folders:
    """The folders of a running daemon's teams."""

    def __init__(self, folder: Path, prometheus: str) -> None:
        self.teams = folder / "autoscalers.d"
        groups: dict[str, dict[str, Any]] = {name: {} for name in ("main", "shop-web", "shop-api", "pay-api")}
        grants = {
            team: {
                "namePrefix": f"{team}-",
                "maxReplicas": 4,
                "adapters": ["groups"],
                "targets": [f"{team}-*"],
                "sources": [team],
                "maxQueries": 3,
            }
            for team in TEAMS
        }
        self.config = write_config(
            folder,
            {name: {"url": prometheus, "timeout": "1s"} for name in ("default", "main", *TEAMS)},
            [scaler("main", 2)],
            {"groups": {"type": "memory", "groups": groups}},
            controller={"syncPeriod": "1s"},
            autoscalersDir="autoscalers.d",
            grants=grants,
        )
        for team in TEAMS:
            (self.teams / team).mkdir(parents=True)

    def write(self, team: str, file: str, *scalers: dict[str, Any]) -> Path:
        path = self.teams / team / file
        path.write_text(yaml.safe_dump(list(scalers)))
        return path


@pytest.fixture
def folders(folder: Path, prometheus: str) -> Folders:
    return Folders(folder, prometheus)


@pytest.fixture
def daemon(folders: Folders) -> Iterator[RunningDaemon]:
    folders.write("shop", "web.yaml", scaler("shop-web", 3))
    folders.write("pay", "api.yaml", scaler("pay-api", 2))
    with running_daemon(folders.config) as running:
        running.wait_for("decision", autoscaler="shop-web", written=3)
        running.wait_for("decision", autoscaler="pay-api", written=2)
        yield running


def test_changed_files_are_followed_without_a_reload(folders: Folders, daemon: RunningDaemon) -> None:
    """Also a new file, one that is gone, and a dry run."""
    folders.write("shop", "web.yaml", scaler("shop-web", 9))
    daemon.wait_for("decision", autoscaler="shop-web", written=4)
    added = folders.write("shop", "api.yaml", scaler("shop-api", 2, dryRun=True))
    daemon.wait_for("decision", autoscaler="shop-api", dry_run=True)
    added.unlink()
    daemon.wait_for("teams_followed", autoscalers=3, count=2)
    assert daemon.events("reloaded") == []
    odd = [line["event"] for line in daemon.log if line["level"] in ("warning", "error")]
    assert set(odd) <= LATE | {"decision"}, odd
    assert daemon.stop() == 0


def test_a_wrong_file_is_named_and_keeps_its_version(folders: Folders, daemon: RunningDaemon) -> None:
    """Also over a reload of the main file; a restart leaves it out."""
    path = folders.teams / "shop" / "web.yaml"
    path.write_text("- name: [")
    line = daemon.wait_for("team_file_refused")
    assert (line["team"], line["error"].startswith(f"{path}:2:1: invalid YAML")) == ("shop", True)
    daemon.send(signal.SIGHUP)
    daemon.wait_for("reloaded", autoscalers=3)
    seen = len(daemon.events("decision", autoscaler="shop-web"))
    daemon.wait_for("decision", autoscaler="shop-web", count=seen + 2)
    assert daemon.stop() == 0
    with running_daemon(folders.config) as again:
        again.wait_for("team_file_refused", team="shop")
        again.wait_for("decision", autoscaler="pay-api")
        assert again.events("decision", autoscaler="shop-web") == []
        assert again.stop() == 0
