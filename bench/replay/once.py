"""Runs one replay in a process of its own and prints what it took: `bench.replay.once CONFIG SINCE UNTIL`."""

import json
import resource
import sys
import time
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

from autoscaler.clock import SystemClock
from autoscaler.config.loader import load
from autoscaler.observe.prometheus import Prometheus
from autoscaler.whatif.compare.comparison import compare
from autoscaler.whatif.prometheus.fetching import Fetcher
from autoscaler.whatif.prometheus.prometheus_past import PrometheusPast
from autoscaler.whatif.replay.replay import Candidate


class Took(NamedTuple):
    """The cost of one replay."""

    cycles: int
    changes: int
    fetch_seconds: float
    replay_seconds: float
    """CPU seconds of one core, after fetching."""
    mebibytes: float
    """Highest resident MiB, fetching included."""


def once(config: Path, since: datetime, until: datetime) -> Took:
    """Fetch the past of the configuration's first autoscaler, and replay it with its load conserved."""
    settings, clock = load(config), SystemClock()
    servers = {name: Prometheus(name, source, clock) for name, source in settings.prometheus.items()}
    fetcher = Fetcher(servers, clock)
    scaler = settings.autoscalers[0]
    began = time.monotonic()
    past = PrometheusPast(scaler, fetcher, since, until)
    for server in servers.values():
        server.close()
    fetched, before = time.monotonic(), time.process_time()
    found = compare(past, [Candidate("as configured", scaler)], since, until)
    return Took(
        found.part.cycles,
        found.candidates[1].measures.changes,
        fetched - began,
        time.process_time() - before,
        resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    )


if __name__ == "__main__":
    config, since, until = sys.argv[1:]
    took = once(Path(config), datetime.fromisoformat(since), datetime.fromisoformat(until))
    print(json.dumps(took._asdict()))
