"""The folders of teams beside a running daemon: changed files are followed, wrong ones cost no neighbour."""

import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.daemon.running import LATE, RunningDaemon, autoscaler, running_daemon, write_config

pytestmark = pytest.mark.slow

TEAMS = ("pay", "shop")
_MAX_WAIT_SECONDS = 300.0
"""A team's next change waits 20 times as long as its last one took to load, which a busy machine may do for seconds."""


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


def instead(path: Path, make: Callable[[], object]) -> None:
    """Move a path away, and make another one."""
    path.rename(path.with_name(".gone"))
    make()


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


def test_a_hostile_folder_changes_nothing_of_its_neighbours(folders: Folders, daemon: RunningDaemon) -> None:
    """One trick after another, while files are rewritten all the time: names and targets of others among them.

    The neighbour decides every second, at its size, without a failure.
    """
    folder = folders.teams / "shop"
    path = folder / "web.yaml"
    good = path.read_text()
    others = scaler("pay-api", 1) | {"scaleTargetRef": {"adapter": "groups", "name": "main"}}
    tricks: list[Callable[[], object]] = [
        lambda: path.write_text(yaml.safe_dump([others])),
        lambda: path.write_text(yaml.safe_dump([scaler("shop-web", 3, minReplicas=-1, maxReplicas=2**40)])),
        lambda: path.write_text(yaml.safe_dump([scaler("shop-web", 3, drain={"command": ["/bin/sh"]})])),
        lambda: path.write_text("- &a [x]\n" + "".join(f"- &b{at} [*a, *a]\n" for at in range(5_000))),
        lambda: path.write_text("#" * 600_000),
        lambda: path.write_bytes(os.urandom(100_000)),
        lambda: path.chmod(0o666),
        lambda: instead(path, lambda: path.symlink_to(folders.teams / "pay" / "api.yaml")),
        lambda: instead(path, lambda: os.mkfifo(path)),
        lambda: instead(path, lambda: path.hardlink_to(folders.teams / "pay" / "api.yaml")),
        lambda: instead(path, lambda: path.write_text(good)),
        lambda: [(folder / f"n{at}.yaml").write_text("[]") for at in range(1_100)],
        lambda: list(map(Path.unlink, folder.glob("n*.yaml"))),
        lambda: [path.write_text(good + f"# {at}\n") for at in range(2_000)],
        lambda: path.write_text(yaml.safe_dump([scaler(f"shop-{at}", at) for at in range(300)])),
        lambda: instead(folder, lambda: folder.symlink_to("/etc")),
    ]
    for trick in tricks:
        seen = len(daemon.events("decision", autoscaler="pay-api"))
        trick()
        daemon.wait_for("decision", autoscaler="pay-api", count=seen + 3)
    folder.unlink()
    folder.with_name(".gone").rename(folder)
    path.write_text(yaml.safe_dump([scaler("shop-web", 4)]))
    keys = {"autoscaler": "shop-web", "written": 4}
    daemon.until(lambda: daemon.events("decision", **keys) != [], "shop-web at 4", seconds=_MAX_WAIT_SECONDS)
    decided = daemon.events("decision", autoscaler="pay-api", level="info")
    sizes = [(line["current"], line["desired"]) for line in decided if line["written"] is None]
    assert set(sizes) == {(2, 2)}
    assert [line for line in daemon.log if line["level"] == "error" and line["event"] not in LATE] == []
    assert {line["team"] for line in daemon.events("team_file_refused")} == {"shop"}
    status = daemon.get("/api/v1/status/daemon").json()["data"]
    assert [(each["name"], each["autoscalers"], each["refused"]) for each in status["grants"]] == [
        ("pay", 1, 0),
        ("shop", 1, 0),
    ]
    assert 'autoscaler_grant_autoscalers{grant="pay"} 1.0' in daemon.metrics()
    assert daemon.stop() == 0


def test_a_folder_of_a_team_may_come_later(folders: Folders, folder: Path) -> None:
    """A reload names the new grant; the folder is made afterwards."""
    (folders.teams / "pay").rmdir()
    with running_daemon(folders.config) as daemon:
        daemon.wait_for("decision", autoscaler="main")
        (folders.teams / "pay").mkdir()
        folders.write("pay", "api.yaml", scaler("pay-api", 3))
        daemon.wait_for("decision", autoscaler="pay-api", written=3)
        assert daemon.stop() == 0
