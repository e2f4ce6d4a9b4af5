"""Policies in Nomad's jobs, discovered, beside the Nomad Autoscaler: `make bench-discover`, or with ARGS="--jobs 100".

A real agent has each job twice: in the namespace `theirs` the Nomad Autoscaler scales it, in `ours` the daemon does, by
the same policy and the same demand. The first jobs have instances (of Nomad's mock driver), on which the demand falls
in equal shares, and policies of strategy target-value. The others have a constraint that no node satisfies, so they
have a count and no instances, and policies of strategy pass-through. Printed are the time and the requests until every
policy is an autoscaler, the requests of a look without changes, and for each phase of the demand how many twins have
the same size.
"""

import argparse
import math
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any, Final

import requests
import yaml

from bench.processes import cpu_seconds
from tests.daemon.running import RunningDaemon, running_daemon
from tests.servers.exporter import Exporter, running_exporter
from tests.servers.faults import Faults, running_faults
from tests.servers.nomad import NomadServer, running_nomad, service
from tests.servers.ports import free_port
from tests.servers.prometheus import running_prometheus, static
from tools.golang import GoFailed
from tools.nomad_autoscaler import nomad_autoscaler_binary

OURS: Final = "ours"
THEIRS: Final = "theirs"
_NOWHERE: Final = [{"LTarget": "${node.class}", "RTarget": "no-such-class", "Operand": "="}]
_EACH: Final = 10
"""The demand that one instance takes, by every policy."""
_PLACED: Final = 15
"""Jobs with instances."""
_KINDS: Final = ("plain", "steps", "threshold")
"""Of the policies of jobs with instances."""
_MOCK: Final = {"Driver": "mock_driver", "Config": {"run_for": "24h"}, "Resources": {"CPU": 1, "MemoryMB": 10}}
_PHASES: Final = (1.0, 2.5, 0.5)
"""Multiples of each job's first demand."""
_REFRESH_SECONDS: Final = 2.0
"""Of the demand on each instance, which follows the sizes."""
_AGREEING_SECONDS: Final = 180.0
"""How long the twins may take in a phase."""


def kind_of(number: int) -> str:
    """Return what a job's policy is like."""
    return _KINDS[number % len(_KINDS)] if number < _PLACED else "pass-through"


def policy(number: int, namespace: str) -> dict[str, Any]:
    """Return the `scaling` block of a job."""
    share = f'share{{job_name="job-{number}",ns="{namespace}"}}'
    options: dict[str, Any] = {"target": _EACH}
    query, strategy = share, "target-value"
    match kind_of(number):
        case "pass-through":
            query, strategy, options = f'needed{{job_name="job-{number}"}}', "pass-through", {}
        case "steps":
            options |= {"max_scale_up": "4", "max_scale_down": "4"}
        case "threshold":
            options |= {"threshold": "0.2"}
    check = {"source": "prometheus", "query": query, "strategy": [{strategy: [options]}]}
    body = {"cooldown": "30s", "evaluation_interval": "15s", "check": [{"load": [check]}]}
    return {"Min": 1, "Max": 40, "Enabled": True, "Type": "horizontal", "Policy": body}


def demand(number: int, phase: float) -> float:
    """Return the demand of a job in a phase: at first that of 2 to 8 instances."""
    return phase * _EACH * (2 + number % 7)


class World:
    """The jobs, and the demand that each of their instances has."""

    def __init__(self, nomad: NomadServer, exporter: Exporter, jobs: int) -> None:
        self.nomad = nomad
        self.jobs = jobs
        self._exporter = exporter
        self._phase = _PHASES[0]
        self._over = threading.Event()

    def register(self) -> None:
        """Register every job in both namespaces, with one instance."""
        for namespace in (OURS, THEIRS):
            self.nomad.ask("POST", f"/v1/namespace/{namespace}", {"Name": namespace})
            for number in range(self.jobs):
                group: dict[str, Any] = {"Scaling": policy(number, namespace)}
                if number >= _PLACED:
                    group["Constraints"] = _NOWHERE
                self.nomad.register(service(f"job-{number}", group=group, task=_MOCK, Namespace=namespace))

    def sizes(self, namespace: str) -> Mapping[str, int]:
        """Return job -> its size, which is the number of its allocations with and without a node."""
        listed = requests.get(f"{self.nomad.url}/v1/jobs?namespace={namespace}", timeout=60).json()
        states = ("Queued", "Starting", "Running")
        return {one["ID"]: sum(one["JobSummary"]["Summary"]["work"][state] for state in states) for one in listed}

    def show(self, phase: float) -> None:
        """Change the demand."""
        self._phase = phase

    @contextmanager
    def running(self) -> Iterator[None]:
        """Keep the exporter's values up to date during the block."""
        thread = threading.Thread(target=self._keep_up)
        thread.start()
        try:
            yield
        finally:
            self._over.set()
            thread.join()

    def _keep_up(self) -> None:
        while not self._over.wait(_REFRESH_SECONDS):
            values: dict[str, float] = {}
            for namespace in (OURS, THEIRS):
                for job, size in self.sizes(namespace).items():
                    whole = demand(int(job.removeprefix("job-")), self._phase)
                    values[f'share{{job_name="{job}",ns="{namespace}"}}'] = whole / max(1, size)
                    values[f'needed{{job_name="{job}"}}'] = whole / _EACH
            self._exporter.values = values


@contextmanager
def running_theirs(folder: Path, nomad: str, prometheus: str) -> Iterator[subprocess.Popen[bytes]]:
    """Run the Nomad Autoscaler on the namespace `theirs`. Raises GoFailed."""
    config = folder / "theirs.hcl"
    config.write_text(
        f"""
nomad {{
  address   = "{nomad}"
  namespace = "{THEIRS}"
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
        process = subprocess.Popen([nomad_autoscaler_binary(), "agent", f"-config={config}"], stdout=log, stderr=log)
        try:
            yield process
        finally:
            process.terminate()
            process.wait()


def configuration(nomad: str, prometheus: str, jobs: int, *, live: bool) -> dict[str, Any]:
    """Return the daemon's: no autoscaler of its own, and grants of the namespace `ours`."""
    grants = {  # two, because one has room for some 700 policies
        name: {
            "namePrefix": f"{name}.",
            "maxReplicas": 100,
            "adapters": ["nomad"],
            "namespaces": [OURS],
            "targets": [f"job-{digit}*" for digit in digits],
            "sources": [name],
            "maxQueries": jobs,
        }
        for name, digits in (("low", "01234"), ("high", "56789"))
    }
    return {
        "prometheus": {name: {"url": prometheus} for name in grants},
        "adapters": {"nomad": {"type": "nomad", "address": nomad, "discover": {"policies": True, "live": live}}},
        "grants": grants,
        "autoscalers": [],
    }


def discover(daemon: RunningDaemon, proxy: Faults, jobs: int) -> None:
    """Print the time and the requests until every policy is an autoscaler, and the requests of two more looks."""
    daemon.until(lambda: _count(daemon) == (jobs, 0), "discovery", 300)
    looked = proxy.count("/v1/scaling/polic")
    started, followed = (_at(daemon.wait_for(event)) for event in ("starting", "policies_followed"))
    seconds = (followed - started).total_seconds()
    print(f"{jobs:,} policies are autoscalers after {seconds:.1f} s and {looked:,} requests", flush=True)
    daemon.until(lambda: proxy.count("/v1/scaling/policies") >= 3, "two more looks", 120)
    print(f"two looks without changes: {proxy.count('/v1/scaling/polic') - looked} requests", flush=True)


def _at(line: Mapping[str, Any]) -> datetime:
    """Return the time of a line of the log."""
    return datetime.fromisoformat(line["timestamp"])


def _count(daemon: RunningDaemon) -> tuple[int, int]:
    """Return how many policies are found, and how many of them are refused."""
    connections = daemon.get("/api/v1/status/discovered").json()["data"]["connections"]
    return sum(each["found"] for each in connections), sum(each["refused"] for each in connections)


def compare(world: World, processes: Mapping[str, int]) -> None:
    """Go through the phases; print when the twins agree, and at the end of each phase what does not."""
    for phase in _PHASES:
        world.show(phase)
        began, spent = time.monotonic(), {name: cpu_seconds(pid) for name, pid in processes.items()}
        arrived: dict[str, float] = {}
        while time.monotonic() - began < _AGREEING_SECONDS:
            time.sleep(5)
            for namespace in (OURS, THEIRS):
                if namespace not in arrived and not _wrong(world, namespace, phase):
                    arrived[namespace] = time.monotonic() - began
            if len(arrived) == 2:
                break
        seconds = time.monotonic() - began
        ours, theirs = world.sizes(OURS), world.sizes(THEIRS)
        same = sum(ours[job] == theirs[job] for job in theirs)
        print(f"demand x {phase:g}: {same:,} of {world.jobs:,} twins have one size after {seconds:.0f} s", flush=True)
        for namespace in (OURS, THEIRS):
            when = f"after {arrived[namespace]:.0f} s" if namespace in arrived else "not"
            print(f"  {namespace}: every size is what the demand needs {when}", flush=True)
        differing = Counter(kind_of(int(job.removeprefix("job-"))) for job in theirs if ours[job] != theirs[job])
        for job in [each for each in theirs if ours[each] != theirs[each]][:5]:
            print(f"  {job}: ours {ours[job]}, theirs {theirs[job]}", flush=True)
        if differing:
            print(f"  by kind of policy: {dict(differing)}", flush=True)
        used = {name: cpu_seconds(pid) - spent[name] for name, pid in processes.items()}
        print("  " + ", ".join(f"{name} {each / seconds:.2f} CPUs" for name, each in used.items()), flush=True)


def _wrong(world: World, namespace: str, phase: float) -> list[str]:
    """Return the jobs whose size is not what the demand needs, within the threshold of their policy."""
    wrong = []
    for job, size in world.sizes(namespace).items():
        number = int(job.removeprefix("job-"))
        needed = demand(number, phase) / _EACH
        threshold = 0.2 if kind_of(number) == "threshold" else 0.01
        exact = int(needed) if kind_of(number) == "pass-through" else math.ceil(needed)
        if size != exact and abs(needed / max(1, size) - 1) > threshold:
            wrong.append(job)
    return wrong


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m bench.discover", description=(__doc__ or "").partition("\n\n")[2])
    parser.add_argument("--jobs", type=int, default=1000, help="of each namespace (%(default)s)")
    jobs = parser.parse_args().jobs
    with (
        tempfile.TemporaryDirectory(prefix="bench-discover-") as temporary,
        running_exporter() as exporter,
    ):
        folder = Path(temporary)
        for name in ("nomad", "prometheus"):
            (folder / name).mkdir()
        with (
            running_nomad(folder / "nomad") as nomad,
            running_prometheus(folder / "prometheus", [static("demand", exporter.address)]) as prometheus,
            running_faults(nomad.url) as proxy,
        ):
            world = World(nomad, exporter, jobs)
            world.register()
            file = folder / "autoscaler.yaml"
            file.write_text(yaml.safe_dump(configuration(proxy.url, prometheus.url, jobs, live=False)))
            with running_daemon(file) as daemon:
                discover(daemon, proxy, jobs)
            file.write_text(yaml.safe_dump(configuration(nomad.url, prometheus.url, jobs, live=True)))
            try:
                with (
                    world.running(),
                    running_daemon(file) as daemon,
                    running_theirs(folder, nomad.url, prometheus.url) as theirs,
                ):
                    compare(world, {OURS: daemon.process.pid, THEIRS: theirs.pid, "Nomad": nomad.pid})
            except GoFailed as error:
                sys.exit(f"the Nomad Autoscaler cannot be had, so nothing is compared: {error}")


if __name__ == "__main__":
    main()
