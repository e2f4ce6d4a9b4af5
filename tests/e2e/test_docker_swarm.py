"""A real service of a real engine, and the daemon's brakes. tests/quickstart tests metrics of its tasks."""

import signal
from pathlib import Path
from typing import Any

import pytest

from tests.daemon.running import autoscaler, running_daemon, write_config
from tests.servers.docker import running_engine
from tests.servers.prometheus import running_prometheus

pytestmark = pytest.mark.slow


def test_brakes_keep_an_outside_size_and_a_lost_node_through_a_crash(tmp_path: Path) -> None:
    """`docker service scale`, kill -9 of the daemon, and a drain of the only node; then the brakes are removed."""
    brakes = {"loss": {"hold": "1h"}, "outsideChange": {"hold": "1h"}}
    with (
        running_engine() as engine,
        engine.service("web", Mode=replicated(5)),
        running_prometheus(tmp_path) as prometheus,
    ):
        engine.wait_running("web", 5)
        settings = {"brakes": brakes, "downscaleStabilization": "1s"}
        adapters = {"swarm": {"type": "docker-swarm", "host": engine.host}}
        web = autoscaler("web", "vector(5)", adapter="swarm", maxReplicas=10)
        config = write_config(tmp_path, prometheus.url, [web], adapters, controller=settings)
        with running_daemon(config) as daemon:
            daemon.wait_for("decision", current=5, desired=5)
            engine.scale("web", 8)
            line = daemon.wait_for("decision", current=8, desired=5, written=None, reason="OutsideChange")
            assert line["message"].startswith("something else set the size from 5 to 8")
            daemon.stop(signal.SIGKILL)
        engine.wait_running("web", 8)
        with running_daemon(config) as daemon:
            again = daemon.wait_for("decision", current=8, desired=5)
            assert (again["written"], again["message"]) == (None, line["message"])
            engine.wait_running("web", 8)
            seen = len(daemon.events("decision"))
            daemon.wait_for("decision", seen + 2)  # one of the daemons has read all eight
            try:
                engine.drain()
                line = daemon.wait_for("decision", reason="InstancesLost")
                assert f"; also: {again['message']}" in line["message"]
                exposed = daemon.metrics()
                for brake in brakes:
                    assert f'autoscaler_brake_active{{autoscaler="web",brake="{brake}"}} 1.0' in exposed
                settings["brakes"] = {"loss": {"hold": "1h"}}
                web["brakes"] = {"loss": False}
                write_config(tmp_path, prometheus.url, [web], adapters, controller=settings)
                daemon.send(signal.SIGHUP)
                daemon.wait_for("decision", current=5)
            finally:
                engine.drain("active")
            assert daemon.stop() == 0


def replicated(size: int) -> dict[str, Any]:
    return {"Replicated": {"Replicas": size}}
