"""What operators ask for reaches every shard, whoever wrote it into the state."""

import signal
import sys
from pathlib import Path

import pytest

from tests.daemon.running import autoscaler, external, finished, running_daemon, write_config

pytestmark = pytest.mark.slow


def test_a_team_stops_its_own_and_then_everybody_the_fleet(folder: Path, prometheus: str) -> None:
    """One command each; while it is stopped nothing is written, and the neighbour of the first stop goes on."""
    fleet = [
        autoscaler("web", "vector(1)", adapter="fleet", labels={"team": "shop"}),
        autoscaler("job", "vector(1)", adapter="fleet", labels={"team": "mail"}),
    ]
    adapters = {"fleet": {"type": "memory", "groups": {"web": {}, "job": {}}}}

    def ask_for(size: int) -> Path:
        metrics = [external(f"vector({size})")]
        asking = [each | {"metrics": metrics} for each in fleet]
        return write_config(folder, prometheus, asking, adapters, log={"decisions": "changed"})

    with running_daemon(ask_for(1)) as daemon:
        env = {"AUTOSCALER_SERVER": f"unix://{daemon.control_socket}"}

        def run(*words: str) -> list[str]:
            done = finished([sys.executable, "-m", "autoscaler", *words], folder / "state", env)
            assert done.returncode == 0, done.stderr
            return done.stdout.splitlines()

        daemon.wait_for("decision", autoscaler="web", current=1)
        assert run("pause", "-l", "team=shop")[-1].startswith("1 autoscaler: scaling is paused")
        ask_for(3)
        daemon.send(signal.SIGHUP)
        daemon.wait_for("decision", autoscaler="job", written=3)
        daemon.wait_for("decision", autoscaler="web", reason="Paused", desired=3, written=None)
        assert run("get", "-l", "team=shop,!owner", "-o", "wide")[1].split()[0] == "web"
        assert run("pause", "--all", "--reason", "wrong release")[-1].startswith("2 autoscalers: scaling is paused")
        ask_for(4)
        daemon.send(signal.SIGHUP)
        for name in ("web", "job"):
            daemon.wait_for("decision", autoscaler=name, reason="Paused", desired=4, written=None)
        assert run("resume", "--all")[-1] == "2 autoscalers: resumed"
        for name in ("web", "job"):
            daemon.wait_for("decision", autoscaler=name, written=4)
        assert daemon.stop() == 0
