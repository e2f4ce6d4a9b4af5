"""The servers, the load, and both autoscalers on it."""

import json
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import yaml

from bench.reaction.arms import MAXIMUM, Arm, nomad, processes, swarm
from tests.daemon.running import PROGRAM, end_workers, mark, running_daemon
from tests.servers.docker import published, running_engine
from tests.servers.files import replace_text
from tests.servers.nomad import running_nomad, service
from tests.servers.ports import free_port, free_ports
from tests.servers.prometheus import PrometheusServer, file_sd, running_prometheus
from tests.servers.web import PAGE, Answer, Request, answering
from tests.waiting import until
from tools.nomad_autoscaler import nomad_autoscaler_binary

LOW: Final = 5
HIGH: Final = 25
"""The load before and after a rise."""
TARGET: Final = 10
"""The load of each instance. Both autoscalers have a tolerance of a tenth."""
OURS: Final = "Nomad"
THEIRS: Final = "Nomad Autoscaler"


@dataclass(frozen=True, slots=True)
class Times:
    """Intervals in seconds."""

    scrape: int
    period: int
    """`syncPeriod` of the daemon, and `evaluation_interval` of the Nomad Autoscaler."""
    quick_period: int
    """`syncPeriod` of a second pool of processes."""

    @property
    def query(self) -> str:
        """Return the query of both autoscalers. Its range is four scrape intervals."""
        return f"sum(avg_over_time(load[{4 * self.scrape}s]))"


@dataclass(slots=True)
class Load:
    """An exporter of the load. Prometheus scrapes it in a phase that depends on the parameter `phase` of its URL."""

    file: Path
    """Has the target, for Prometheus."""
    value: int = LOW
    address: str = ""
    scraped: dict[str, float] = field(default_factory=dict)
    """Phase -> the Unix time of its latest scrape."""

    def scrape(self, request: Request) -> Answer:
        """Answer a scrape."""
        self.scraped[request.form["phase"]] = time.time()
        return Answer(200, f"load {self.value}\n".encode(), {"Content-Type": PAGE})

    def expose(self, *phases: str) -> None:
        """Let Prometheus scrape in these phases, and wait until it has."""
        targets = [{"targets": [self.address], "labels": {"__param_phase": phase}} for phase in phases]
        self.scraped.clear()
        replace_text(self.file, json.dumps(targets))
        until(lambda: self.scraped.keys() >= set(phases), f"scrapes in {len(phases)} phases", 120)

    def phases(self, count: int, interval: float) -> list[str]:
        """Return phases that are spread evenly over the interval of scrapes."""
        candidates = [str(number) for number in range(8 * count)]
        self.expose(*candidates)
        return sorted(candidates, key=lambda each: self.scraped[each] % interval)[4::8]


@dataclass(frozen=True, slots=True)
class World:
    """The load, the arms that scale on it, and the Prometheus between them."""

    load: Load
    prometheus: PrometheusServer
    arms: Sequence[Arm]


@contextmanager
def running_world(times: Times) -> Iterator[World]:
    """Run all servers and both autoscalers, until each arm has one instance. Raises GoFailed."""
    theirs = nomad_autoscaler_binary()
    with tempfile.TemporaryDirectory(prefix="bench-reaction-") as temporary, running_engine() as engine:
        folder = Path(temporary)
        for name in ("nomad", "prometheus", "daemon", "www"):
            (folder / name).mkdir()
        (folder / "www" / "metrics").write_text("work 1\n")
        load = Load(folder / "load.json")
        serve = "echo work 1 > /tmp/metrics; exec httpd -f -p 8080 -h /tmp"
        with (
            answering(load.scrape) as url,
            running_nomad(folder / "nomad") as server,
            engine.service("work", command=("sh", "-c", serve), EndpointSpec=published()),
            running_prometheus(
                folder / "prometheus", _scrapes(folder, server.url, engine.host), interval=f"{times.scrape}s"
            ) as prometheus,
        ):
            load.address = url.removeprefix("http://")
            server.register(service("ours"))
            server.register(service("theirs", group={"Scaling": _policy(times)}))
            load.expose("0")
            prometheus.wait_for("load")
            config = folder / "daemon" / "autoscaler.yaml"
            adapters = {
                "local": {"type": "process", "pools": {name: _pool(folder, name) for name in ("pool", "quick")}},
                "swarm": {"type": "docker-swarm", "host": engine.host},
                "nomad": {"type": "nomad", "address": server.url},
            }
            config.write_text(yaml.safe_dump(_configuration(times, prometheus.url, adapters)))
            with (
                ExitStack() as stack,
                running_daemon(config, program=PROGRAM) as daemon,
                _running_theirs(folder, theirs, server.url, prometheus.url),
            ):
                stack.callback(end_workers, folder)
                arms = (
                    processes("processes", daemon, "pool"),
                    processes(f"processes, every {times.quick_period} s", daemon, "quick"),
                    swarm("Swarm", engine, "work"),
                    nomad(OURS, server, "ours"),
                    nomad(THEIRS, server, "theirs"),
                )
                daemon.wait_for("ready")
                yield World(load, prometheus, arms)


def _scrapes(folder: Path, nomad_url: str, engine: str) -> list[dict[str, Any]]:
    """Return how Prometheus finds the load and the instances."""
    relabel = [
        {"source_labels": ["__meta_dockerswarm_task_desired_state"], "regex": "running", "action": "keep"},
        {"source_labels": ["__meta_dockerswarm_task_id"], "target_label": "task_id"},
    ]
    return [
        file_sd("load", folder / "load.json"),
        file_sd("processes", folder / "pool.json", folder / "quick.json"),
        {
            "job_name": "swarm",
            "dockerswarm_sd_configs": [{"host": engine, "role": "tasks", "refresh_interval": "2s"}],
            "relabel_configs": relabel,
        },
        {
            "job_name": "nomad",
            "metrics_path": "/v1/metrics",
            "params": {"format": ["prometheus"]},
            "static_configs": [{"targets": [nomad_url.removeprefix("http://")]}],
        },
    ]


def _pool(folder: Path, name: str) -> dict[str, Any]:
    return {
        "env": mark(folder),
        "command": ["busybox", "httpd", "-f", "-p", "127.0.0.1:{port}", "-h", str(folder / "www")],
        "ports": free_ports(),
        "targetsFile": str(folder / f"{name}.json"),
    }


def _configuration(times: Times, prometheus: str, adapters: Mapping[str, Any]) -> dict[str, Any]:
    metric = {
        "metric": {"name": "load"},
        "query": {"expr": times.query},
        "target": {"type": "Value", "value": TARGET},
    }
    targets = [("local", "pool", times.period), ("local", "quick", times.quick_period)]
    targets += [("swarm", "work", times.period), ("nomad", "ours/work", times.period)]
    return {
        "prometheus": {"default": {"url": prometheus}},
        "adapters": adapters,
        "autoscalers": [
            {
                "name": name.partition("/")[0],
                "scaleTargetRef": {"adapter": adapter, "name": name},
                "syncPeriod": f"{period}s",
                "maxReplicas": MAXIMUM,
                "metrics": [{"type": "External", "external": metric}],
                "behavior": {"scaleDown": {"stabilizationWindowSeconds": 0}},
            }
            for adapter, name, period in targets
        ],
    }


def _policy(times: Times) -> dict[str, Any]:
    """Return the `scaling` block with which the Nomad Autoscaler does as the daemon's autoscaler."""
    strategy = [{"target-value": [{"target": TARGET, "threshold": "0.1"}]}]
    check = {"source": "prometheus", "query": times.query, "query_window": "instant", "strategy": strategy}
    body = {"cooldown": "1s", "evaluation_interval": f"{times.period}s", "check": [{"load": [check]}]}
    return {"Min": 1, "Max": MAXIMUM, "Enabled": True, "Type": "horizontal", "Policy": body}


@contextmanager
def _running_theirs(folder: Path, binary: Path, nomad_url: str, prometheus: str) -> Iterator[None]:
    """Run the Nomad Autoscaler on the jobs that have a policy."""
    config = folder / "theirs.hcl"
    config.write_text(
        f"""
nomad {{
  address = "{nomad_url}"
}}
http {{
  bind_port = {free_port()}
}}
apm "prometheus" {{
  driver = "prometheus"
  config = {{
    address = "{prometheus}"
  }}
}}
"""
    )
    with (folder / "theirs.log").open("wb") as log:
        process = subprocess.Popen([binary, "agent", f"-config={config}"], stdout=log, stderr=log)
        try:
            yield
        finally:
            process.terminate()
            process.wait()
