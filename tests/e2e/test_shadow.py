"""A dry run is right: under one load its sizes equal those of the same autoscaler live."""

import os
import signal
from functools import partial
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from tests.daemon.running import RunningDaemon, running_daemon, workers
from tests.e2e.loop import DEMAND, pool, worker
from tests.servers.files import replace_text
from tests.servers.prometheus import file_sd, running_prometheus

pytestmark = pytest.mark.slow

POOLS: Final = ("live", "dry")
SCRIPT: Final = (15, 30, 58, 25, 41, 8)
"""The load, step by step. An instance should get ten."""
STEP_CYCLES: Final = 6
BEGINS_WITH: Final = 2
"""The initial number of instances of each."""

WORKER: Final = worker(DEMAND, ready_after=1.5)
"""Exposes the whole load as soon as it is ready, as a load balancer would divide it among ready ones."""


def autoscaler(name: str, **more: Any) -> dict[str, Any]:
    share = f'demand{{job="{name}"}} / scalar(count(demand{{job="{name}"}}))'
    target = {"type": "AverageValue", "averageValue": 10}
    return {
        "name": name,
        "scaleTargetRef": {"adapter": "local", "name": name},
        "minReplicas": 1,
        "maxReplicas": 8,
        "metrics": [{"type": "Pods", "pods": {"metric": {"name": "load"}, "query": {"expr": share}, "target": target}}],
        "behavior": {"scaleDown": {"stabilizationWindowSeconds": 3}},
    } | more


def write(folder: Path, prometheus: str, **of_dry: Any) -> Path:
    """Write the configuration. `of_dry`: keys of the autoscaler `dry`."""
    config = folder / "autoscaler.yaml"
    pools = {name: pool(folder, f"{name}.json", initialReplicas=BEGINS_WITH) for name in POOLS}
    document = {
        "controller": {"syncPeriod": "1s"},
        "prometheus": {"default": {"url": prometheus}},
        "adapters": {"local": {"type": "process", "pools": pools}},
        "log": {"decisions": "all"},
        "autoscalers": [autoscaler("live"), autoscaler("dry", **of_dry)],
    }
    replace_text(config, yaml.safe_dump(document))
    return config


def cycles(daemon: RunningDaemon) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    """Return the lines of the live autoscaler and of the dry run for each cycle. Both are decided in the same batch."""
    found, live = [], None
    for line in daemon.events("decision"):
        if line["autoscaler"] == "live":
            live = line
        elif live is not None and line["dry_run"]:
            found.append((live, line))
    return found


def more_cycles(daemon: RunningDaemon, than: int) -> bool:
    return len(cycles(daemon)) >= than


def test_a_dry_run_has_the_sizes_of_the_live_autoscaler(tmp_path: Path) -> None:
    """Both follow one scripted load with real workers. In 95 % of the cycles they differ by one step at most."""
    (tmp_path / "worker.py").write_text(WORKER)
    demand = tmp_path / "demand"
    replace_text(demand, f"demand {SCRIPT[0]}\n")
    jobs = [file_sd(name, tmp_path / f"{name}.json") for name in POOLS]
    with running_prometheus(tmp_path, jobs, interval="200ms") as prometheus:
        fixed = {"minReplicas": BEGINS_WITH, "maxReplicas": BEGINS_WITH}
        config = write(tmp_path, prometheus.url, **fixed)
        with running_daemon(config) as daemon:
            try:
                for name in POOLS:
                    daemon.wait_for("decision", autoscaler=name, current=BEGINS_WITH, desired=BEGINS_WITH)
                    daemon.wait_for("decision", autoscaler=name, reason="ReadyForNewScale")
                write(tmp_path, prometheus.url, dryRun=True)
                daemon.send(signal.SIGHUP)
                daemon.wait_for("decision", autoscaler="dry", dry_run=True, shadow=BEGINS_WITH)
                for load in SCRIPT:
                    replace_text(demand, f"demand {load}\n")
                    done = len(cycles(daemon)) + STEP_CYCLES
                    daemon.until(partial(more_cycles, daemon, done), f"{done} cycles")
                found = cycles(daemon)
                assert daemon.stop(signal.SIGTERM) == 0
            finally:
                for pid in workers(tmp_path):  # they outlive their daemon
                    os.kill(pid, signal.SIGKILL)
    assert {dry["current"] for _, dry in found} - {None} == {BEGINS_WITH}  # nothing is written; None: not read in time
    sizes = [(live["current"], dry["shadow"]) for live, dry in found if live["current"] is not None]
    near = sum(abs(live - dry) <= 1 for live, dry in sizes)
    assert near / len(sizes) >= 0.95, sizes
    assert min(max(live for live, _ in sizes), max(dry for _, dry in sizes)) >= 5, sizes
    assert sizes[-1][1] <= 2, sizes
