"""A real service of a real engine, sized by the daemon from what a real Prometheus scrapes of its tasks."""

import signal
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.daemon.running import external, running_daemon
from tests.servers.docker import published, running_engine, swarm_sd
from tests.servers.files import replace_text
from tests.servers.prometheus import running_prometheus

pytestmark = pytest.mark.slow

SERVE = ["httpd", "-f", "-p", "8080", "-h", "/www"]
SHARE = 'load{service="web"} / scalar(count(load{service="web"}))'
"""Every task tells the whole demand; a load balancer would spread it evenly."""


def configuration(prometheus: str, host: str) -> dict[str, Any]:
    target = {"type": "AverageValue", "averageValue": 10}
    metric = {"type": "Pods", "pods": {"metric": {"name": "load"}, "query": {"expr": SHARE}, "target": target}}
    return {
        "controller": {"syncPeriod": "1s", "initialReadinessDelay": "0s"},
        "prometheus": {"default": {"url": prometheus}},
        "adapters": {"swarm": {"type": "docker-swarm", "host": host}},
        "log": {"decisions": "all"},
        "autoscalers": [
            {
                "name": "web",
                "scaleTargetRef": {"adapter": "swarm", "name": "web"},
                "minReplicas": 1,
                "maxReplicas": 6,
                "metrics": [metric],
                "behavior": {"scaleDown": {"stabilizationWindowSeconds": 5}},
            }
        ],
    }


def test_a_service_under_load_goes_from_one_to_several_and_back(tmp_path: Path) -> None:
    """Tasks are found by dockerswarm_sd_configs, samples joined by task_id, sizes written, no task restarted."""
    demand = tmp_path / "www" / "metrics"
    demand.parent.mkdir()
    replace_text(demand, "load 5\n")
    mount = {"Type": "bind", "Source": str(demand.parent), "Target": "/www", "ReadOnly": True}
    container = {"ContainerSpec": {"Mounts": [mount]}}
    with (
        running_engine() as engine,
        engine.service("web", command=SERVE, EndpointSpec=published(), TaskTemplate=container, Mode=replicated(1)),
        running_prometheus(tmp_path, [swarm_sd("swarm", engine)]) as prometheus,
    ):
        first = engine.wait_running("web", 1)
        prometheus.wait_for(SHARE)
        config = tmp_path / "autoscaler.yaml"
        config.write_text(yaml.safe_dump(configuration(prometheus.url, engine.host)))
        with running_daemon(config) as daemon:
            steady = daemon.wait_for("decision", current=1, desired=1)
            assert steady["metrics"] == [{"name": "load", "type": "Pods", "value": "5", "target": "10"}]
            replace_text(demand, "load 35\n")
            daemon.wait_for("decision", current=1, desired=4, written=4)
            assert first.items() <= engine.wait_running("web", 4).items()
            daemon.wait_for("decision", current=4, desired=4, written=None)
            replace_text(demand, "load 5\n")
            daemon.wait_for("decision", desired=1, written=1)
            engine.wait_running("web", 1)
            assert daemon.stop(signal.SIGTERM) == 0
            sizes = [line["written"] for line in daemon.events("decision") if line["written"] is not None]
            assert sizes[0] == 4
            assert sizes == sorted(
                sizes, reverse=True
            )  # while only some tasks tell the new demand, it may stop between
            assert sizes[-1] == 1


def test_brakes_hold_what_somebody_set_and_what_a_node_lost_through_a_crash(tmp_path: Path) -> None:
    """`docker service scale`, kill -9 of the daemon, and the only node drained; then the brakes are taken away."""
    brakes = {"loss": {"hold": "1h"}, "outsideChange": {"hold": "1h"}}
    with (
        running_engine() as engine,
        engine.service("web", Mode=replicated(5)),
        running_prometheus(tmp_path) as prometheus,
    ):
        engine.wait_running("web", 5)
        settings = configuration(prometheus.url, engine.host)
        settings["controller"] |= {"brakes": brakes, "downscaleStabilization": "1s"}
        web = settings["autoscalers"][0]
        web |= {"metrics": [external("vector(5)")], "maxReplicas": 10, "behavior": None}
        config = tmp_path / "autoscaler.yaml"
        config.write_text(yaml.safe_dump(settings))
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
            daemon.wait_for("decision", seen + 2)  # one of them has read all eight
            try:
                engine.drain()
                line = daemon.wait_for("decision", reason="InstancesLost")
                assert f"; also: {again['message']}" in line["message"]
                exposed = daemon.metrics()
                for brake in brakes:
                    assert f'autoscaler_brake_active{{autoscaler="web",brake="{brake}"}} 1.0' in exposed
                settings["controller"]["brakes"] = {"loss": {"hold": "1h"}}
                web["brakes"] = {"loss": False}
                config.write_text(yaml.safe_dump(settings))
                daemon.send(signal.SIGHUP)
                daemon.wait_for("decision", current=8, desired=5, written=5)
            finally:
                engine.drain("active")
            assert daemon.stop() == 0


def replicated(size: int) -> dict[str, Any]:
    return {"Replicated": {"Replicas": size}}
