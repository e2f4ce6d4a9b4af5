"""A real daemon on a fleet, with state, log and HTTP server, and the cost of its cycles."""

import json
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any, Final

from bench.fleet.adapter import install
from bench.processes import cpu_seconds, resident_mebibytes
from tests.daemon.running import PROGRAM, RunningDaemon, running_daemon

PERIOD_SECONDS: Final = 15
_PATIENCE_SECONDS: Final = 420.0
_UNSETTLED: Final = 1
"""Cycles at the beginning that are not measured, because the first one records whole rows."""


@dataclass(frozen=True)
class Measured:
    """What some cycles cost."""

    seconds: Sequence[float]
    """Seconds of each cycle, from its start until it was recorded."""
    observing_seconds: Sequence[float]
    """Seconds of each cycle until everything was read."""
    late_seconds: Sequence[float]
    evaluations: int
    cpu_seconds: float
    """CPU seconds of the daemon during these cycles."""
    mebibytes: float
    """Resident MiB at the end."""

    @property
    def cycle(self) -> float:
        """Return the median of the cycles' seconds."""
        return median(self.seconds)

    @property
    def observing(self) -> float:
        """Return the median of the seconds until everything was read."""
        return median(self.observing_seconds)

    @property
    def evaluations_a_second(self) -> float:
        """Return the evaluations for each CPU second."""
        return self.evaluations / self.cpu_seconds


class Daemon(RunningDaemon):
    """A running daemon with the cost of its cycles, and longer time limits."""

    def trouble(self) -> list[dict[str, Any]]:
        """Return the number of warnings and errors in the log; a failed decision is one."""
        troubled = [line for line in self.log if line["level"] in ("warning", "error")]
        return [line for line in troubled if line["event"] != "target_warning"]  # what a back end says of a target

    def calm(self, count: int) -> None:
        """Wait for this number of cycles in a row without a warning or an error. Raises AssertionError."""
        ended, troubled = 0, 0

        def true() -> bool:
            nonlocal ended, troubled
            cycles, trouble = len(self.events("cycle_ended")), len(self.trouble())
            if trouble != troubled:
                ended, troubled = cycles, trouble
            return cycles >= ended + count + 1  # the first one may have begun before the trouble was over

        self.until(true, f"{count} cycles without trouble")

    def until(self, true: Callable[[], bool], what: str, seconds: float = _PATIENCE_SECONDS) -> None:
        """Wait until the condition holds. Raises AssertionError at the time limit."""
        super().until(true, what, seconds)

    def cycles(self, count: int) -> Sequence[Mapping[str, Any]]:
        """Return the first cycles."""
        self.until(lambda: len(self.events("cycle_ended")) >= count, f"cycle {count}")
        return self.events("cycle_ended")

    def measure(self, count: int) -> Measured:
        """Return the next `count` cycles."""
        first = max(len(self.events("cycle_ended")), _UNSETTLED)
        self.cycles(first)
        cpu = cpu_seconds(self.process.pid)
        ended = self.cycles(first + count)[first : first + count]
        return Measured(
            [line["seconds"] for line in ended],
            [line["observing_seconds"] for line in ended],
            [line["late_seconds"] for line in ended],
            sum(line["autoscalers"] for line in ended),
            cpu_seconds(self.process.pid) - cpu,
            resident_mebibytes(self.process.pid),
        )

    def failed(self) -> int:
        """Return the number of autoscalers that failed in the last cycle, by the daemon's own metrics."""
        lines = self.metrics().splitlines()
        return sum(line.startswith("autoscaler_metric_failed{") and line.endswith(" 1.0") for line in lines)

    @contextmanager
    def scraped(self) -> Iterator[None]:
        """Read `/metrics` every PERIOD_SECONDS during the block, as a Prometheus does."""
        over = threading.Event()

        def scrape() -> None:
            while not over.wait(PERIOD_SECONDS):
                self.metrics()

        scraper = threading.Thread(target=scrape)
        scraper.start()
        try:
            yield
        finally:
            over.set()
            scraper.join()

    def seconds_of(self, path: str) -> float:
        """Return the seconds until the whole answer is there."""
        began = time.perf_counter()
        self.get(path)
        return time.perf_counter() - began


@contextmanager
def running_fleet_daemon(document: Mapping[str, Any]) -> Iterator[Daemon]:
    """Start a daemon with the adapter type `fleet` in a folder of its own. Its first cycle may be under way."""
    with tempfile.TemporaryDirectory(prefix="bench-fleet-daemon-") as folder:
        config = Path(folder) / "autoscaler.yaml"
        config.write_text(json.dumps({"controller": {"syncPeriod": f"{PERIOD_SECONDS}s"}} | dict(document)))
        with running_daemon(config, "--log.level=debug", program=PROGRAM, env=install(Path(folder))) as running:
            daemon = Daemon(running.process, config, running.stderr)
            daemon.wait_for("listening")
            yield daemon
