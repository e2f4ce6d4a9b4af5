"""What scaling many Nomad groups costs: `make bench-nomad`, or `python -m bench.nomad --groups 100 --cycles 2`.

A real agent with as many jobs of one group each, which have a count and a constraint that no node satisfies; a real
Prometheus with three series a group; the daemon, its autoscalers each on an expression of its own, and then all on one
shared query with `match`. Printed are the CPU seconds of all three processes for each 1,000 evaluations, the daemon's
resident memory, and how many groups keep up with a period of 1 s.
"""

import argparse
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any, Final

from bench.fleet.daemon import PERIOD_SECONDS, Daemon, running_fleet_daemon
from bench.fleet.series import METRIC, group_name
from bench.fleet.world import Fleet, Queries, running_fleet
from bench.processes import cpu_seconds, resident_mebibytes
from tests.servers.nomad import NOWHERE, NomadServer, running_nomad, service
from tools.nomad import NomadNotFound, nomad_binary

AIM_CPU_SECONDS: Final = {Queries.OWN: 0.2, Queries.SHARED: 0.15}
"""Aims: CPU seconds of the daemon for 1,000 evaluations."""
AIM_ABOVE_REST: Final = 0.3
"""Aim: CPU seconds of all three processes, own expressions."""
AIM_MEBIBYTES: Final = 100
AIM_GROUPS: Final = 4_000

_INSTANCES: Final = 3
"""Series of each group."""
_COUNT: Final = 1
"""The size of every group, and the size that its load asks for: the daemon writes nothing."""
_AT_REST_SECONDS: Final = PERIOD_SECONDS / 2
"""Seconds of each cycle."""
_CALM_CYCLES: Final = 2
"""Cycles without an error in a row, after which everything has been read."""
_KEEPS_UP_SECONDS: Final = 15
_ATTEMPTS: Final = 2
"""Attempts before a number of groups counts as too large, because the machine may be busy for a moment."""
_NEARER: Final = 1.15
"""The search ends when the smallest number that is too large is at most this multiple of the largest that is not."""


@dataclass(slots=True)
class Nomad:
    """The agent and its jobs."""

    server: NomadServer
    jobs: int = 0

    def register(self, count: int) -> None:
        """Register the first `count` jobs that are missing."""
        for number in range(self.jobs, count):
            self.server.register(service(group_name(number), count=_COUNT, group={"Constraints": NOWHERE}))
        self.jobs = max(self.jobs, count)


@dataclass(frozen=True, slots=True)
class World:
    """The servers, with one job for each group of the fleet."""

    nomad: Nomad
    fleet: Fleet

    def cpu(self) -> dict[str, float]:
        """Return the CPU seconds that the servers have used."""
        servers = {"Prometheus": self.fleet.prometheus.pid, "Nomad": self.nomad.server.pid}
        return {name: cpu_seconds(pid) for name, pid in servers.items()}

    def configuration(self, queries: Queries, period_seconds: int) -> dict[str, Any]:
        """Return one autoscaler for each job."""
        document: dict[str, Any] = {
            "controller": {"syncPeriod": f"{period_seconds}s"},
            "prometheus": {"default": {"url": self.fleet.prometheus.url}},
            "adapters": {"nomad": {"type": "nomad", "address": self.nomad.server.url}},
            "autoscalers": [_autoscaler(group_name(number), queries) for number in range(self.fleet.groups)],
        }
        if queries is Queries.SHARED:
            document["queries"] = {"load": {"expr": f"sum by (group) (avg_over_time({METRIC}[2m]))"}}
        return document


@dataclass(slots=True)
class Cycles:
    """CPU seconds of each process for 1,000 evaluations, without what it uses at rest."""

    of: dict[str, list[float]] = field(default_factory=dict)

    def add(self, name: str, seconds: float, evaluations: int) -> None:
        """Add one cycle of one process."""
        self.of.setdefault(name, []).append(seconds / evaluations * 1000)

    def shown(self, name: str) -> str:
        """Return one process' median, minimum and maximum."""
        each = self.of[name]
        return f"{median(each):.3f} ({min(each):.3f} to {max(each):.3f})"

    @property
    def sum(self) -> float:
        """Return the median of the sum of all three."""
        return median(map(sum, zip(*self.of.values(), strict=True)))


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m bench.nomad", description=(__doc__ or "").partition("\n\n")[2])
    parser.add_argument("--groups", type=int, default=1000, help="with a period of 15 s (%(default)s)")
    parser.add_argument("--cycles", type=int, default=5, help="of each measurement (%(default)s)")
    parser.add_argument("--most", type=int, default=6000, help="groups tried with a period of 1 s (%(default)s)")
    arguments = parser.parse_args()
    try:
        nomad_binary()
        with tempfile.TemporaryDirectory(prefix="bench-nomad-") as folder, running_nomad(Path(folder)) as server:
            nomad = Nomad(server)
            with world(nomad, arguments.groups) as servers:
                steady(servers, arguments.cycles)
            most = {queries: largest(nomad, queries, arguments.groups, arguments.most) for queries in AIM_CPU_SECONDS}
    except (NomadNotFound, AssertionError) as error:
        sys.exit(str(error))
    for queries, groups in most.items():
        report(f"groups that keep up with 1 s, {queries.value}", f"{groups:,}", f"{AIM_GROUPS:,}")


@contextmanager
def world(nomad: Nomad, groups: int) -> Iterator[World]:
    """Start an agent with one job for each group, and a Prometheus with their load."""
    nomad.register(groups)
    with running_fleet(groups, _INSTANCES) as fleet:
        yield World(nomad, fleet)


def _autoscaler(name: str, queries: Queries) -> dict[str, Any]:
    own = {"expr": f'sum(avg_over_time({METRIC}{{group="{name}"}}[2m]))'}
    shared = {"ref": "load", "match": {"group": name}}
    external = {
        "metric": {"name": "load"},
        "query": own if queries is Queries.OWN else shared,
        "target": {"type": "AverageValue", "averageValue": 1000},
    }
    return {
        "name": name,
        "scaleTargetRef": {"adapter": "nomad", "name": f"{name}/work"},
        "maxReplicas": 10,
        "metrics": [{"type": "External", "external": external}],
    }


def steady(servers: World, count: int) -> None:
    """Print what the groups cost with a period of 15 s, with own and with shared expressions."""
    print(f"{servers.fleet.groups:,} groups every {PERIOD_SECONDS} s; CPU s per 1,000 evaluations, of {count} cycles")
    for queries, aim in AIM_CPU_SECONDS.items():
        with running_fleet_daemon(servers.configuration(queries, PERIOD_SECONDS)) as daemon:
            daemon.calm(_CALM_CYCLES)
            first = cpu_seconds(daemon.process.pid)
            found = _measured(servers, daemon, count)
            memory = resident_mebibytes(daemon.process.pid)
        print(f"{queries.value}:")
        report("  daemon", found.shown("daemon"), f"at most {aim}")
        for name in servers.cpu():
            print(f"    {name} above rest: {found.shown(name)}")
        report("  all three above rest", f"{found.sum:.3f}", f"at most {AIM_ABOVE_REST}")
        report("  daemon, resident", f"{memory:.0f} MiB", f"{AIM_MEBIBYTES} MiB")
        report("  daemon, until all is read once", f"{first:.1f} CPU s", "none")


def _measured(servers: World, daemon: Daemon, count: int) -> Cycles:
    """Measure the servers at rest between two cycles, because a busy machine raises all costs for some time."""
    cycles, pid = Cycles(), daemon.process.pid
    daemon.measure(1)  # to its end
    for _ in range(count):
        began, first = cpu_seconds(pid), servers.cpu()
        time.sleep(_AT_REST_SECONDS)
        second, since = servers.cpu(), time.monotonic()
        evaluations = daemon.measure(1).evaluations
        third, share = servers.cpu(), (time.monotonic() - since) / _AT_REST_SECONDS
        cycles.add("daemon", cpu_seconds(pid) - began, evaluations)
        for name in first:
            rest = (second[name] - first[name]) * share
            cycles.add(name, third[name] - second[name] - rest, evaluations)
    if trouble := daemon.trouble():
        raise AssertionError(f"not every decision was one: {trouble[-1]}")
    return cycles


def largest(nomad: Nomad, queries: Queries, groups: int, most: int) -> int:
    """Return the largest number of groups that keeps up, found by doubling and bisection; 0: none does."""
    good, bad, trial = 0, None, min(groups, most)
    while bad is None or bad > good * _NEARER + 1:
        with world(nomad, trial) as servers:
            fine = any(keeps_up(servers, queries) for _ in range(_ATTEMPTS))
        if fine:
            good = trial
        else:
            bad = trial
        if good == most:
            break
        trial = min(2 * good, most) if bad is None else (good + bad) // 2
    return good


def keeps_up(servers: World, queries: Queries) -> bool:
    """Return whether every group is evaluated once a second, without a missed tick or a failed decision."""
    with running_fleet_daemon(servers.configuration(queries, 1)) as daemon:
        try:
            daemon.calm(_CALM_CYCLES)
        except AssertionError:
            return False
        time.sleep(1)
        ended, troubled = len(daemon.events("cycle_ended")), len(daemon.trouble())
        began = sum(servers.cpu().values()), cpu_seconds(daemon.process.pid)
        time.sleep(_KEEPS_UP_SECONDS)
        used = sum(servers.cpu().values()) - began[0], cpu_seconds(daemon.process.pid) - began[1]
        cycles = daemon.events("cycle_ended")[ended:]
        trouble = len(daemon.trouble()) - troubled
    seconds = median(line["seconds"] for line in cycles) if cycles else 0
    print(
        f"  {servers.fleet.groups:>6,} groups every 1 s, {queries.value}: {len(cycles)} cycles of {seconds:.2f} s in "
        f"{_KEEPS_UP_SECONDS} s, {trouble} lines of trouble; CPU s: daemon {used[1]:.1f}, servers {used[0]:.1f}",
        flush=True,
    )
    return not trouble and len(cycles) >= _KEEPS_UP_SECONDS - 1


def report(what: str, found: str, aim: str) -> None:
    """Print one line."""
    print(f"{what:<66} {found:>22}   aim: {aim}", flush=True)


if __name__ == "__main__":
    main()
