"""A real Prometheus with the series of a fleet, and real daemons on it."""

import json
import re
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from bench.fleet.adapter import install
from bench.fleet.series import INTERVAL_SECONDS, METRIC, group_name, pages_of
from bench.processes import cpu_seconds, resident_mebibytes
from tests.daemon.running import environment
from tests.servers.ports import free_port
from tests.servers.prometheus import PrometheusServer, running_prometheus

_READY_WITHIN_SECONDS: Final = 180.0


@dataclass(frozen=True)
class Fleet:
    """`groups` of `instances` each, and the Prometheus that knows their load."""

    groups: int
    instances: int
    prometheus: PrometheusServer


@contextmanager
def running_fleet(groups: int, instances: int) -> Iterator[Fleet]:
    """Everything scraped at least once."""
    count = pages_of(groups, instances)
    command = [sys.executable, "-m", "bench.fleet.series", str(groups), str(instances)]
    with tempfile.TemporaryDirectory(prefix="bench-fleet-") as folder:
        source = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        try:
            assert source.stdout is not None
            address = f"127.0.0.1:{int(source.stdout.readline())}"
            scrape = {
                "job_name": "fleet",
                "honor_labels": True,
                "scrape_interval": f"{INTERVAL_SECONDS}s",
                "scrape_timeout": f"{INTERVAL_SECONDS}s",
                "static_configs": [
                    {"targets": [address], "labels": {"__metrics_path__": f"/{part}"}} for part in range(count)
                ],
            }
            with running_prometheus(Path(folder), [scrape]) as prometheus:
                end = time.monotonic() + _READY_WITHIN_SECONDS
                while (
                    not (found := prometheus.query(f"count({METRIC})"))
                    or int(found[0]["value"][1]) < groups * instances
                ):
                    assert time.monotonic() < end, f"Prometheus has {found} series after {_READY_WITHIN_SECONDS} s"
                    time.sleep(0.5)
                yield Fleet(groups, instances, prometheus)
        finally:
            source.kill()
            source.wait()


@dataclass
class Daemon:
    """One that runs on a fleet."""

    process: subprocess.Popen[bytes]
    url: str
    folder: Path

    def get(self, path: str) -> bytes:
        """What it answers."""
        with urllib.request.urlopen(self.url + path, timeout=60) as answer:
            body: bytes = answer.read()
            return body

    def cycles(self) -> tuple[int, float]:
        """How many there have been, and the seconds that they took together."""
        text = self.get("/metrics").decode()
        name = "autoscaler_tick_duration_seconds"
        count = re.search(rf"^{name}_count{{.*}} (\S+)$", text, re.MULTILINE)
        total = re.search(rf"^{name}_sum{{.*}} (\S+)$", text, re.MULTILINE)
        return (int(float(count[1])), float(total[1])) if count and total else (0, 0.0)

    def cpu(self) -> float:
        """Seconds so far."""
        return cpu_seconds(self.process.pid)

    def memory(self) -> float:
        """MiB resident."""
        return resident_mebibytes(self.process.pid)


@contextmanager
def running_daemon(fleet: Fleet, document: dict[str, Any]) -> Iterator[Daemon]:
    """With state, log and web on."""
    with tempfile.TemporaryDirectory(prefix="bench-fleet-daemon-") as name:
        folder, port = Path(name), free_port()
        document = document | {"web": {"listenAddress": f"127.0.0.1:{port}"}}
        config = folder / "autoscaler.yaml"
        config.write_text(json.dumps(document))
        command = [sys.executable, "-m", "autoscaler", "run", f"--config.file={config}", "--log.format=json"]
        with (folder / "log").open("wb") as output:
            process = subprocess.Popen(
                command, stdout=output, stderr=output, env=environment(folder / "state", **install(folder))
            )
        daemon = Daemon(process, f"http://127.0.0.1:{port}", folder)
        try:
            end = time.monotonic() + _READY_WITHIN_SECONDS
            while True:
                assert process.poll() is None, (folder / "log").read_text()[-2000:]
                assert time.monotonic() < end, "the daemon did not listen"
                try:
                    daemon.get("/-/healthy")
                    break
                except OSError:
                    time.sleep(0.1)
            yield daemon
        finally:
            process.terminate()
            process.wait()


def configuration(fleet: Fleet, *, own: bool, period_seconds: int = 15, **more: Any) -> dict[str, Any]:
    """An autoscaler a group, on one shared query or each on an expression of its own."""
    names = [group_name(number) for number in range(fleet.groups)]
    document: dict[str, Any] = {
        "controller": {"syncPeriod": f"{period_seconds}s"},
        "prometheus": {"default": {"url": fleet.prometheus.url, "timeout": "10s"}},
        "adapters": {"fleet": {"type": "fleet", "initialReplicas": fleet.instances}},
        "autoscalers": [_autoscaler(name, fleet.instances, own=own) for name in names],
    }
    if not own:
        document["queries"] = {"load": {"expr": METRIC}}
    return document | more


def _autoscaler(name: str, instances: int, *, own: bool) -> dict[str, Any]:
    query = {"expr": f'{METRIC}{{group="{name}"}}'} if own else {"ref": "load", "match": {"group": name}}
    target = {"type": "AverageValue", "averageValue": 100}
    quick = {"stabilizationWindowSeconds": 0}
    return {
        "name": name,
        "scaleTargetRef": {"adapter": "fleet", "name": name},
        "minReplicas": 1,
        "maxReplicas": 2 * instances,
        "metrics": [{"type": "Pods", "pods": {"metric": {"name": "load"}, "query": query, "target": target}}],
        "behavior": {"scaleDown": quick, "scaleUp": quick},
    }


def cycles(daemon: Daemon, count: int, within_seconds: float) -> Sequence[float]:
    """Seconds that each of the next cycles took, after the first two; fewer when they do not come in time."""
    took: list[float] = []
    seen, total = daemon.cycles()
    end = time.monotonic() + within_seconds
    while len(took) < count and time.monotonic() < end:
        time.sleep(1)
        now, spent = daemon.cycles()
        if now > seen:
            if seen >= 2:
                took.append((spent - total) / (now - seen))
            seen, total = now, spent
    return took
