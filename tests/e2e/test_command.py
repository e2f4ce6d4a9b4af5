"""The whole loop of a daemon with a program as its back end: a real Prometheus, and 40 lines of shell."""

from pathlib import Path

import pytest
import yaml

from tests.adapters.command.harness import EXAMPLES, need_jq, script
from tests.daemon.running import RunningDaemon, running_daemon

pytestmark = pytest.mark.slow


def config(folder: Path, url: str, observe: str, shop: str = "groups") -> Path:
    """Write a configuration of two groups, whose metric asks for three members.

    `observe` reads those of the connection `program`, the example those of `groups`. `shop`: the second group's
    connection. The period leaves programs time on a busy machine.
    """
    (folder / "groups").mkdir()
    (folder / "groups" / "web").write_text("web-a\n")
    target = {"type": "AverageValue", "averageValue": 20}
    metric = {"metric": {"name": "load"}, "query": {"expr": "vector(60)"}, "target": target}
    groups = str(folder / "groups")
    scalers = [
        {
            "name": name,
            "scaleTargetRef": {"adapter": adapter, "name": name},
            "maxReplicas": 5,
            "metrics": [{"type": "External", "external": metric}],
        }
        for name, adapter in (("web", "groups"), ("shop", shop))
    ]
    example = str(EXAMPLES / "groups")
    scale = [example, "scale", groups]
    content = {
        "controller": {"syncPeriod": "5s"},
        "prometheus": {"default": {"url": url}},
        "adapters": {
            "groups": {"type": "command", "observe": [example, "observe", groups], "scale": scale},
            "program": {"type": "command", "observe": [observe], "scale": scale},
        },
        "autoscalers": scalers,
    }
    file = folder / "autoscaler.yaml"
    file.write_text(yaml.safe_dump(content))
    return file


def members(folder: Path, name: str) -> int:
    return len((folder / "groups" / name).read_text().splitlines())


def is_told(daemon: RunningDaemon, end: str) -> bool:
    """Return whether a decision about `shop` says so. On a busy machine the program may be ended before it answers."""
    return any(each["message"].endswith(end) for each in daemon.events("decision", autoscaler="shop"))


def test_a_programs_groups_are_scaled_and_a_missing_one_affects_only_its_own_autoscaler(
    tmp_path: Path, prometheus: str
) -> None:
    """The operator gets the program's message about it."""
    need_jq()
    with running_daemon(config(tmp_path, prometheus, "/bin/false")) as daemon:
        daemon.until(lambda: members(tmp_path, "web") == 3, "three members")
        daemon.until(lambda: is_told(daemon, "there is no file shop; create it"), "the program's message")
        (tmp_path / "groups" / "shop").write_text("shop-a\n")
        daemon.until(lambda: members(tmp_path, "shop") == 3, "three members of the other")
        assert daemon.stop() == 0


def test_a_daemon_that_stops_ends_its_programs(tmp_path: Path) -> None:
    """A hanging one delays neither the stop nor the next daemon."""
    hangs = script(tmp_path, f"echo $$ >{tmp_path}/pid; exec sleep 1000")
    with running_daemon(config(tmp_path, "http://127.0.0.1:1", hangs, shop="program")) as daemon:
        daemon.until((tmp_path / "pid").exists, "the program to run")
        assert daemon.stop() == 0
    with pytest.raises(OSError, match="No such"):
        (Path("/proc") / (tmp_path / "pid").read_text().strip() / "stat").read_text()
