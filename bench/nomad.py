"""What scaling many Nomad groups costs: `make bench-nomad`, or `python -m bench.nomad --groups 100 --seconds 20`.

A real agent with as many jobs of one group each, which have a count and a constraint that no node satisfies; a real
Prometheus; the daemon, its autoscalers on one shared query. Printed are the CPU seconds of all three for each 1,000
evaluations, the daemon's resident memory, and how many groups keep up with a period of 1 s.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from bench.processes import cpu_seconds, resident_mebibytes
from tests.daemon.running import environment
from tests.servers.nomad import NomadServer, running_nomad, service
from tests.servers.ports import free_port
from tests.servers.prometheus import PrometheusServer, running_prometheus, static
from tools.nomad import NomadNotFound, nomad_binary

AIM_CPU_SECONDS: Final = 0.61
AIM_MEBIBYTES: Final = 100
AIM_GROUPS: Final = 5_000

_COUNT: Final = 3
"""Of every group, and what the query asks for: nothing is ever to be written."""
_QUERY: Final = f"sum(up) + {_COUNT}"
"""Of one target that is down."""
_NOWHERE: Final = [{"LTarget": "${node.class}", "RTarget": "no-such-class", "Operand": "="}]
_PERIOD_SECONDS: Final = 15
_AT_REST_SECONDS: Final = 20
_WARM_WITHIN_SECONDS: Final = 180
_KEEPS_UP_SECONDS: Final = 15
_ATTEMPTS: Final = 2
"""Before a number of groups counts as too large: one hiccup of the machine is not the daemon's."""
_NEARER: Final = 1.15
"""The search ends when the next number that is too large is at most so many times the number that is not."""


class BenchError(Exception):
    """There is nothing to measure; the message says why."""


@dataclass(slots=True)
class World:
    """The servers, and the groups on Nomad so far."""

    folder: Path
    nomad: NomadServer
    prometheus: PrometheusServer
    names: list[str] = field(default_factory=list)

    def register(self, count: int) -> list[str]:
        """The first `count` groups, registered where they are not yet."""
        for number in range(len(self.names), count):
            name = f"job-{number:05}"
            self.nomad.register(service(name, count=_COUNT, group={"Constraints": _NOWHERE}))
            self.names.append(name)
        return self.names[:count]

    def cpu(self) -> Counter[str]:
        """CPU seconds of the servers so far."""
        return Counter({"Prometheus": cpu_seconds(self.prometheus.pid), "Nomad": cpu_seconds(self.nomad.pid)})


class Daemon:
    """One that runs."""

    def __init__(self, process: subprocess.Popen[bytes], log: Path) -> None:
        self.process = process
        self._log = log
        self._read = 0

    def lines(self) -> list[dict[str, Any]]:
        """What it has logged since the last call."""
        with self._log.open("rb") as log:
            log.seek(self._read)
            text = log.read()
        text = text[: text.rfind(b"\n") + 1]
        self._read += len(text)
        try:
            return [json.loads(line) for line in text.splitlines()]
        except ValueError:
            raise BenchError(f"the daemon broke down:\n{text.decode(errors='replace')[-2000:]}") from None

    def warm(self, names: Sequence[str]) -> bool:
        """Wait until every autoscaler has had a decision without a failure, its job read once; False: in vain."""
        missing, end = set(names), time.monotonic() + _WARM_WITHIN_SECONDS
        while missing:
            if self.process.poll() is not None:
                raise BenchError(f"the daemon ended with {self.process.returncode}; see {self._log}")
            if time.monotonic() > end:
                return False
            missing -= {line["autoscaler"] for line in self.lines() if _decided(line)}
            time.sleep(0.2)
        return True


def _decided(line: Mapping[str, Any]) -> bool:
    return (line["event"], line["level"]) == ("decision", "info")


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m bench.nomad", description=(__doc__ or "").partition("\n\n")[2])
    parser.add_argument("--groups", type=int, default=1000, help="of the first measurement (%(default)s)")
    parser.add_argument("--seconds", type=float, default=120, help="that it lasts (%(default)s)")
    parser.add_argument("--most", type=int, default=8000, help="groups tried with a period of 1 s (%(default)s)")
    arguments = parser.parse_args()
    try:
        nomad_binary()
        with world() as servers:
            steady(servers, arguments.groups, arguments.seconds)
            most = largest(servers, arguments.groups, arguments.most)
    except (NomadNotFound, BenchError) as error:
        sys.exit(str(error))
    report("groups that keep up with 1 s", f"{most:,}", f"{AIM_GROUPS:,}")


@contextmanager
def world() -> Iterator[World]:
    """A Nomad agent and a Prometheus that scrapes one target, which is down."""
    with tempfile.TemporaryDirectory(prefix="bench-nomad-") as name:
        folder = Path(name)
        for server in ("nomad", "prometheus"):
            (folder / server).mkdir()
        with (
            running_nomad(folder / "nomad") as nomad,
            running_prometheus(folder / "prometheus", [static("none", "127.0.0.1:1")]) as prometheus,
        ):
            prometheus.wait_for(_QUERY)
            yield World(folder, nomad, prometheus)


@contextmanager
def daemon(servers: World, names: Sequence[str], period_seconds: int) -> Iterator[Daemon]:
    """A fresh one, with an autoscaler for each job."""
    with tempfile.TemporaryDirectory(dir=servers.folder) as folder:
        config, log = Path(folder, "autoscaler.yaml"), Path(folder, "log")
        config.write_text(json.dumps(configuration(servers, names, period_seconds)))
        command = [sys.executable, "-m", "autoscaler", "run", f"--config.file={config}", "--log.format=json"]
        with log.open("wb") as output:
            process = subprocess.Popen(command, stdout=output, stderr=output, env=environment(Path(folder, "state")))
        try:
            yield Daemon(process, log)
        finally:
            process.terminate()
            process.wait()


def configuration(servers: World, names: Sequence[str], period_seconds: int) -> dict[str, Any]:
    """As JSON, which is YAML."""
    target = {"type": "AverageValue", "averageValue": 1}
    external = {"metric": {"name": "demand"}, "query": {"ref": "demand"}, "target": target}
    return {
        "controller": {"syncPeriod": f"{period_seconds}s"},
        "prometheus": {"default": {"url": servers.prometheus.url}},
        "adapters": {"nomad": {"type": "nomad", "address": servers.nomad.url}},
        "log": {"decisions": "all"},
        "web": {"listenAddress": f"127.0.0.1:{free_port()}"},
        "queries": {"demand": {"expr": _QUERY}},
        "autoscalers": [
            {
                "name": name,
                "scaleTargetRef": {"adapter": "nomad", "name": f"{name}/work"},
                "maxReplicas": 10,
                "metrics": [{"type": "External", "external": external}],
            }
            for name in names
        ],
    }


def steady(servers: World, groups: int, seconds: float) -> None:
    """Print what `groups` cost with the usual period."""
    names = servers.register(groups)
    rest = at_rest(servers)
    with daemon(servers, names, _PERIOD_SECONDS) as running:
        if not running.warm(names):
            raise BenchError(f"not every group had a decision within {_WARM_WITHIN_SECONDS} s")
        pid = running.process.pid
        first = cpu_seconds(pid)
        before, began = servers.cpu(), time.monotonic()
        running.lines()
        time.sleep(seconds)
        used = Counter({"daemon": cpu_seconds(pid) - first})
        used.update(servers.cpu())
        used.subtract(before)
        elapsed = time.monotonic() - began
        decided = sum(map(_decided, running.lines()))
        memory = resident_mebibytes(pid)
    if not decided:
        raise BenchError(f"no decision in {seconds:g} s; measure at least one period of {_PERIOD_SECONDS} s")
    print(f"{groups:,} groups, every {_PERIOD_SECONDS} s, for {elapsed:.0f} s: {decided:,} evaluations")
    for name, cpu in used.items():
        idle = f", of which at rest {rest[name] * elapsed / decided * 1000:.3f}" if name in rest else ""
        print(f"  {name:<12} {cpu / decided * 1000:.3f} CPU s per 1,000 evaluations{idle}")
    report("all three", f"{used.total() / decided * 1000:.2f} CPU s", f"{AIM_CPU_SECONDS} CPU s")
    report("daemon until its first cycle", f"{first:.1f} CPU s", "none")
    report("daemon, resident", f"{memory:.0f} MiB", f"{AIM_MEBIBYTES} MiB")


def at_rest(servers: World) -> dict[str, float]:
    """CPU seconds a second of the servers while nobody asks them anything."""
    time.sleep(_AT_REST_SECONDS / 4)  # the last registrations are worked off
    before = servers.cpu()
    time.sleep(_AT_REST_SECONDS)
    used = servers.cpu()
    used.subtract(before)
    return {name: seconds / _AT_REST_SECONDS for name, seconds in used.items()}


def largest(servers: World, groups: int, most: int) -> int:
    """The largest number of groups found that keeps up, by doubling and then halving the distance; 0: none did."""
    good, bad, trial = 0, None, min(groups, most)
    while bad is None or bad > good * _NEARER + 1:
        if any(keeps_up(servers, trial) for _ in range(_ATTEMPTS)):
            good = trial
        else:
            bad = trial
        if good == most:
            break
        trial = min(2 * good, most) if bad is None else (good + bad) // 2
    return good


def keeps_up(servers: World, groups: int) -> bool:
    """Whether every group is evaluated once a second: no tick is missed and no decision fails."""
    names = servers.register(groups)
    with daemon(servers, names, 1) as running:
        warm = running.warm(names)
        time.sleep(1)
        running.lines()
        time.sleep(_KEEPS_UP_SECONDS)
        lines = running.lines()
    decided = sum(map(_decided, lines))
    failed = sum(line["level"] != "info" for line in lines)
    fine = warm and not failed and decided >= (_KEEPS_UP_SECONDS - 1) * groups
    rate = decided / _KEEPS_UP_SECONDS
    print(f"  {groups:>6,} groups every 1 s: {rate:,.0f} evaluations/s, {failed} lines of trouble", flush=True)
    return fine


def report(what: str, found: str, aim: str) -> None:
    """One line."""
    print(f"{what:<30} {found:>12}   aim: {aim}", flush=True)


if __name__ == "__main__":
    main()
