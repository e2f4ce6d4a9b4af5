"""Puts a week of load into a real Prometheus, and replays it; ARGS=quick for a day."""

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import yaml

from autoscaler.quantity import format_duration
from bench.__main__ import report
from bench.processes import cpu_seconds
from bench.replay.load import CYCLES, INSTANCES, NAME, PERIOD, write
from tests.servers.prometheus import running_prometheus
from tools.prometheus import prometheus_binaries

AIM_SECONDS: Final = 60
AIM_MEBIBYTES: Final = 500


def main(cycles: int) -> None:
    """Run the measurements one after another."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        end = datetime.fromtimestamp(int(time.time()) // 60 * 60, UTC)
        begin = end - cycles * PERIOD
        print(f"{cycles:,} cycles of {INSTANCES} instances, {format_duration(PERIOD)} apart", flush=True)
        backfill(folder, begin, cycles)
        with running_prometheus(folder) as prometheus:
            config = folder / "autoscaler.yaml"
            config.write_text(yaml.safe_dump(configuration(prometheus.url)))
            asked = cpu_seconds(prometheus.pid)
            took = replayed(folder, config, begin, end)
            asked = cpu_seconds(prometheus.pid) - asked
            report("fetched", f"{took['fetch_seconds']:.0f} s", f"none; Prometheus worked for {asked:.0f} s of them")
            report("replayed", f"{took['replay_seconds']:.1f} s of a core", f"under {AIM_SECONDS} s a week")
            report("memory", f"{took['mebibytes']:.0f} MiB", f"under {AIM_MEBIBYTES} MiB")
            print(
                f"{took['cycles']:,} cycles were decided, and {took['changes']:,} of them changed the size", flush=True
            )


def backfill(folder: Path, begin: datetime, cycles: int) -> None:
    """Write blocks of the load for a Prometheus that starts in this folder."""
    text = folder / "load.om"
    write(text, begin, cycles)
    make = (prometheus_binaries().promtool, "tsdb", "create-blocks-from", "openmetrics", text, folder / "data")
    subprocess.run(make, check=True, stdout=subprocess.DEVNULL)
    text.unlink()


def configuration(prometheus: str) -> dict[str, Any]:
    """Return the configuration of one autoscaler of the load's pool."""
    target = {"type": "AverageValue", "averageValue": "500m"}
    query = {"expr": "rate(app_busy_seconds_total[1m])"}
    return {
        "prometheus": {"default": {"url": prometheus, "timeout": "30s"}},
        "adapters": {"fleet": {"type": "memory", "groups": {"web": {}}}},
        "autoscalers": [
            {
                "name": NAME,
                "scaleTargetRef": {"adapter": "fleet", "name": "web"},
                "minReplicas": 2,
                "maxReplicas": 40,
                "metrics": [{"type": "Pods", "pods": {"metric": {"name": "busy"}, "query": query, "target": target}}],
                "behavior": {"scaleDown": {"stabilizationWindowSeconds": 300}},
            }
        ],
    }


def replayed(folder: Path, config: Path, begin: datetime, end: datetime) -> dict[str, Any]:
    """Return what a replay took in a process of its own."""
    took: dict[str, Any] = json.loads(
        run(folder, ["-m", "bench.replay.once", str(config), begin.isoformat(), end.isoformat()])
    )
    return took


def run(folder: Path, arguments: Sequence[str]) -> str:
    """Return the output of a program that has no state."""
    environment = {**os.environ, "STATE_DIRECTORY": str(folder / "state")}
    done = subprocess.run([sys.executable, *arguments], env=environment, stdout=subprocess.PIPE, text=True, check=True)
    return done.stdout


if __name__ == "__main__":
    main(CYCLES // 7 if sys.argv[1:] == ["quick"] else CYCLES)
