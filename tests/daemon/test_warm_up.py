"""A warm-up, through a restart of the daemon, on the memory adapter and a real Prometheus."""

import sys
from datetime import timedelta
from pathlib import Path
from typing import Final

import pytest

from autoscaler.model import TargetState
from autoscaler.record import Archive, Record
from tests.cli.scene import UNREACHABLE
from tests.daemon.running import autoscaler, finished, running_daemon, write_config

pytestmark = pytest.mark.slow

WARM_UP: Final = timedelta(seconds=8)
LOADED: Final = 'label_replace(vector(20), "instance", "web-1", "", "")'


def test_a_warm_up_begins_at_the_first_sight_of_ready_and_survives_a_restart(folder: Path, prometheus: str) -> None:
    """The back end tells no times, so that the daemon's own memory says when the instance was first ready."""
    target = {"type": "AverageValue", "averageValue": 10}
    load = {"type": "Pods", "pods": {"metric": {"name": "load"}, "query": {"expr": LOADED}, "target": target}}
    scaler = autoscaler("web", "", adapter="trial", metrics=[load], warmUp="8s")
    groups = {"web": {"initialReplicas": 1, "startupTime": "1h"}}
    config = write_config(folder, prometheus, [scaler], {"trial": {"type": "memory", "groups": groups}})
    with running_daemon(config) as daemon:
        line = daemon.wait_for("decision", reason="FailedGetPodsMetric")
        assert line["message"].endswith("no sample counts before a warm-up of 8s has ended; warming up: web-1")
        assert daemon.stop() == 0
    with running_daemon(config) as daemon:
        daemon.wait_for("decision", written=2)
        line = daemon.wait_for("decision", current=2)
        assert line["metrics"][0]["warming"] == 1
        assert daemon.stop() == 0
    with Archive.open_archive(None, folder / "state") as archive:
        records = list(archive.records("web"))
    written = next(place for place, each in enumerate(records) if each.decision.written)
    began = records[0].decision.now
    assert {_ready_since(each) for each in records} == {began}
    assert records[written - 1].decision.now - began < WARM_UP <= records[written].decision.now - began
    assert records[written + 1].decision.metrics[0].warming == ("web-2",)
    command = [sys.executable, "-m", "autoscaler", "get", "web"]
    told = finished(command, folder / "state", {"AUTOSCALER_SERVER": UNREACHABLE})
    assert "web: 1 instance warms up: web-2" in told.stderr


def _ready_since(record: Record) -> object:
    """When the first instance was ready, in a cycle's memory."""
    assert record.observation is not None
    assert isinstance(record.observation.target, TargetState)
    return record.observation.target.instances[0].ready_transition
