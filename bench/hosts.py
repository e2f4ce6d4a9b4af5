"""What three daemons on one PostgreSQL cost: `make bench-hosts`, or `python -m bench.hosts --autoscalers 900`.

A real Prometheus and a real PostgreSQL, on this machine as the daemons are. The autoscalers have ten instances and an
expression each, and belong to one connection of twelve shards. The command prints the cycles that began in time, and
the CPU seconds of each daemon and of the database for each 1,000 evaluations.
"""

import argparse
import re
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import chain
from typing import Any, Final

from bench.fleet.daemon import PERIOD_SECONDS, Daemon, running_fleet_daemon
from bench.fleet.world import Fleet, Queries, running_fleet
from bench.processes import cpu_seconds, resident_mebibytes
from tests.record.postgresql import Server, empty_state, running_server

AIM_DAEMON: Final = 0.3
"""CPU seconds for 1,000 evaluations."""
AIM_DATABASE: Final = 0.1
_DAEMONS: Final = 3
_SHARDS: Final = 12
_INSTANCES: Final = 10
_IN_TIME_SECONDS: Final = 0.2
_SETTLED_CYCLES: Final = 2
"""Cycles of each shard before the measurement. The first one records whole rows."""


@dataclass(frozen=True)
class Usage:
    """What the daemons and the database have done and used."""

    cycles: Sequence[Sequence[Mapping[str, Any]]]
    """CPU seconds of each daemon."""
    daemons: Sequence[float]
    """CPU seconds."""
    database: float


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m bench.hosts", description=(__doc__ or "").partition("\n\n")[2])
    parser.add_argument("--autoscalers", type=int, default=9000, help="of all daemons together (%(default)s)")
    parser.add_argument("--cycles", type=int, default=8, help="that are measured (%(default)s)")
    arguments = parser.parse_args()
    try:
        with running_fleet(arguments.autoscalers, _INSTANCES) as fleet, running_server() as server:
            measure(fleet, server, arguments.cycles)
    except AssertionError as error:
        sys.exit(str(error))


def measure(fleet: Fleet, server: Server, cycles: int) -> None:
    """Print the cost of this number of cycles."""
    document = fleet.configuration(Queries.OWN) | {"state": {"url": empty_state(server.address)}, "ha": {}}
    document["adapters"]["fleet"]["shards"] = _SHARDS
    with ExitStack() as stack:
        daemons = [stack.enter_context(running_fleet_daemon(document)) for _ in range(_DAEMONS)]
        for daemon in daemons:
            daemon.until(lambda daemon=daemon: _held(daemon) == _SHARDS // _DAEMONS, "an even share")  # type: ignore[misc]
        for daemon in daemons:
            daemon.cycles(len(daemon.events("cycle_ended")) + _SETTLED_CYCLES * _SHARDS // _DAEMONS)
        before = _usage(daemons, server)
        time.sleep(cycles * PERIOD_SECONDS)
        after = _usage(daemons, server)
        memory = [resident_mebibytes(daemon.process.pid) for daemon in daemons]
        trouble = list(chain.from_iterable(daemon.trouble() for daemon in daemons))
    measured = [new[len(old) :] for old, new in zip(before.cycles, after.cycles, strict=True)]
    evaluations = [sum(line["autoscalers"] for line in lines) for lines in measured]
    ended = list(chain.from_iterable(measured))
    if not all(evaluations):
        raise AssertionError("a daemon ended no cycle")
    print(f"{fleet.groups:,} autoscalers x {_INSTANCES} in {_SHARDS} shards of {_DAEMONS} daemons, {cycles} cycles")
    late = sum(line["late_seconds"] <= _IN_TIME_SECONDS for line in ended)
    _report("cycles begun within 200 ms of plan", f"{late} of {len(ended)}", "all")
    _report("the longest", f"{max(line['seconds'] for line in ended):.1f} s", f"under {PERIOD_SECONDS} s")
    _report("autoscalers evaluated", f"{sum(evaluations):,}", f"{fleet.groups * cycles:,}")
    each = [(new - old) / n * 1000 for new, old, n in zip(after.daemons, before.daemons, evaluations, strict=True)]
    _report("CPU s of each daemon per 1,000", ", ".join(f"{one:.3f}" for one in each), f"at most {AIM_DAEMON}")
    database = (after.database - before.database) / sum(evaluations) * 1000
    _report("CPU s of the database per 1,000", f"{database:.3f}", f"at most {AIM_DATABASE}")
    _report("resident of each daemon", ", ".join(f"{one:.0f}" for one in memory) + " MiB", "none")
    _report("warnings and errors", f"{len(trouble)}", "none")


def _report(what: str, found: str, aim: str) -> None:
    print(f"{what:<40} {found:>24}   aim: {aim}", flush=True)


def _held(daemon: Daemon) -> int:
    """Return the number of shards that the daemon holds."""
    found = re.search(r'^autoscaler_shards_held\{adapter="fleet"\} (\d+)', daemon.metrics(), re.MULTILINE)
    return int(found[1]) if found else 0


def _usage(daemons: Sequence[Daemon], server: Server) -> Usage:
    return Usage(
        [daemon.events("cycle_ended") for daemon in daemons],
        [cpu_seconds(daemon.process.pid) for daemon in daemons],
        sum(map(cpu_seconds, server.pids)),
    )


if __name__ == "__main__":
    main()
