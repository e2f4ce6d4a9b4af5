"""How long `autoscaler get` takes with 2,000 autoscalers, interpreter included: `python -m bench.get`.

Asked are the daemon's HTTP server, and the state alone, as while the daemon is down.
"""

import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Final

from prometheus_client import CollectorRegistry

from autoscaler.clock import SystemClock
from autoscaler.config.settings import Settings
from autoscaler.decide import decide
from autoscaler.log.configure import Format, Level, configure
from autoscaler.metrics.health import Health
from autoscaler.model import Observation, Observed, TargetRef
from autoscaler.record.housekeeping import Retention
from autoscaler.record.state import State
from autoscaler.web.server import WebServer
from autoscaler.web.sources import Sources
from tests.decide.build import CPU_60, samples, scaler, state
from tests.web.shards import SoundShards

AIM_SECONDS: Final = 1.0
AUTOSCALERS: Final = 2_000
_NOBODY: Final = "http://127.0.0.1:1"
_RUNS: Final = 5


def main() -> None:
    """Print both medians."""
    with _recorded() as (folder, sources):
        served = _served_median(folder, sources)
        print(f"autoscaler get with {AUTOSCALERS:,}: {served:.2f} s   aim: under {AIM_SECONDS} s")
        print(f"the same without a daemon: {_median(folder, _NOBODY):.2f} s")


def seconds() -> float:
    """Return the median seconds of several runs that ask a daemon, without the first, which may compile."""
    with _recorded() as (folder, sources):
        return _served_median(folder, sources)


@contextmanager
def _recorded() -> Iterator[tuple[Path, Sources]]:
    """Return a state with one decision for each autoscaler, with ten instances, and what a server needs."""
    cpu = scaler(CPU_60, minimum=2)
    scalers = tuple(
        replace(cpu, name=f"web-{number:04}", target=TargetRef("fleet", f"web-asg-{number:04}"))
        for number in range(AUTOSCALERS)
    )
    now = datetime.now(UTC)
    observed = Observation(state(10), (samples([600] * 10, now),))
    with (
        tempfile.TemporaryDirectory() as folder,
        closing(State.open(None, Path(folder), Retention())) as opened,
    ):
        ledger = opened.ledger("fleet")
        histories = ledger.recall(scalers)
        decisions = [decide(each, observed, histories[each.name], now) for each in scalers]
        observations = {each.name: observed for each in scalers}
        ledger.record({each.name: each for each in scalers}, Observed(observations), decisions)
        settings = Settings(Path("autoscaler.yaml"), {}, {}, scalers)
        health = Health(SystemClock())
        yield (
            Path(folder),
            Sources(
                state=opened,
                settings=lambda: settings,
                clock=SystemClock(),
                registry=CollectorRegistry(),
                ready=lambda: True,
                reload=lambda: (),
                resign=lambda: (),
                status=partial(health.status, settings, SoundShards(), "0", now),
            ),
        )


def _served_median(folder: Path, sources: Sources) -> float:
    server = WebServer(sources, "127.0.0.1:0", None, configure(Level.ERROR, Format.AUTO))
    server.start()
    try:
        return _median(folder, server.url)
    finally:
        server.stop()


def _median(folder: Path, url: str) -> float:
    command = [str(Path(sys.executable).with_name("autoscaler")), "get", f"--server={url}"]
    environment = os.environ | {"STATE_DIRECTORY": str(folder)}
    times = []
    for _ in range(_RUNS + 1):
        begin = time.perf_counter()
        shown = subprocess.run(command, check=True, capture_output=True, env=environment).stdout
        times.append(time.perf_counter() - begin)
        if shown.count(b"\n") != AUTOSCALERS + 1:
            raise SystemExit(f"{shown[:200]!r} are not {AUTOSCALERS} rows")
    return statistics.median(times[1:])


if __name__ == "__main__":
    main()
