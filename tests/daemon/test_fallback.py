"""A metric's fallback, through an outage of a real Prometheus."""

import sys
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from autoscaler.record import Archive
from tests.cli.scene import UNREACHABLE
from tests.daemon.running import autoscaler, external, finished, run_once, running_daemon, write_config
from tests.servers.ports import free_port
from tests.servers.prometheus import running_prometheus

pytestmark = pytest.mark.slow

AWAY = {"MetricFallbackActive": ["True", "MetricUnavailable"]}


def with_fallback(expr: str, **fallback: Any) -> dict[str, Any]:
    """Return a metric of this expression with a fallback after four seconds."""
    metric = external(expr)
    metric["external"]["fallback"] = {"failureDurationSeconds": 4, **fallback}
    return metric


def says(line: dict[str, Any], **conditions: list[str]) -> bool:
    known: dict[str, list[str]] = line["conditions"]
    return conditions.items() <= known.items()


def test_a_fallback_continues_after_a_restart_and_ends_with_the_first_value(folder: Path) -> None:
    """The size becomes the fallback's when the first failure is old enough, and returns with the first value."""
    port = free_port()
    scaler = autoscaler("web", "", metrics=[with_fallback("vector(2)", replicas=4)])
    quick = {"downscaleStabilization": "1s"}
    config = write_config(folder, f"http://127.0.0.1:{port}", [scaler], controller=quick)
    server = folder / "prometheus"
    server.mkdir()
    with running_daemon(config) as daemon:
        with running_prometheus(server, port=port):
            daemon.wait_for("decision", written=2)
        first = daemon.wait_for("decision", reason="FailedGetExternalMetric")
        assert says(first, MetricFallbackActive=["False", "FallbackPending"])
        assert daemon.stop() == 0
    with running_daemon(config) as daemon:
        line = daemon.wait_for("decision", written=4)
        assert says(line, **AWAY, ScalingActive=["True", "ValidMetricFound"])
        assert line["level"] == "warning"
        assert line["metrics"][0]["value"] is None
        assert daemon.stop() == 0
    with Archive.open_archive(None, folder / "state") as archive:
        made = [each.decision for each in archive.records("web")]
    began = next(each.now for each in made if each.failing)
    risen = next(each for each in made if each.written == 4)
    assert began < datetime.fromisoformat(first["timestamp"])  # in the life of the first daemon
    assert risen.failing[0].since == began
    assert risen.now - began >= timedelta(seconds=4)

    once = run_once(config)
    assert once.returncode == 1  # an outage with a fallback is still an outage
    command = [sys.executable, "-m", "autoscaler", "explain", "web"]
    told = finished(command, folder / "state", {"AUTOSCALER_SERVER": UNREACHABLE})
    assert "its fallback asks for 4 (fallback: 4 replicas)" in " ".join(told.stdout.split())

    with running_daemon(config) as daemon:
        daemon.wait_for("decision", current=4)
        with running_prometheus(server, port=port):
            line = daemon.wait_for("decision", written=2)
            assert says(line, MetricFallbackActive=["False", "MetricsAvailable"])
            assert daemon.stop() == 0
