"""A real daemon on a fleet, with state, log and web on, and what its cycles cost."""

import json
import os
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any, Final

from bench.fleet.adapter import install
from bench.processes import cpu_seconds, resident_mebibytes
from tests.servers.ports import free_port

PERIOD_SECONDS: Final = 15
_PATIENCE_SECONDS: Final = 420.0
_UNSETTLED: Final = 1
"""Cycles at the beginning that are not measured: the first records everything whole."""


class BenchError(Exception):
    """There is nothing to measure; the message says why."""


@dataclass(frozen=True)
class Measured:
    """What some cycles came to."""

    seconds: Sequence[float]
    """Each one's, from its beginning until it was recorded."""
    observing_seconds: Sequence[float]
    """Of them, until everything had been read."""
    late_seconds: Sequence[float]
    evaluations: int
    cpu_seconds: float
    """The daemon's, all that it did meanwhile."""
    mebibytes: float
    """Resident at the end."""

    @property
    def cycle(self) -> float:
        """Median of the cycles' seconds."""
        return median(self.seconds)

    @property
    def observing(self) -> float:
        """Median of the seconds until everything had been read."""
        return median(self.observing_seconds)

    @property
    def evaluations_a_second(self) -> float:
        """Of processor time."""
        return self.evaluations / self.cpu_seconds


class Daemon:
    """One that runs."""

    def __init__(self, process: subprocess.Popen[bytes], folder: Path, url: str) -> None:
        self.process = process
        self.url = url
        self.folder = folder
        self.config = folder / "autoscaler.yaml"
        self._log = folder / "log"

    def lines(self, event: str) -> list[dict[str, Any]]:
        """Of the log so far. Raises BenchError when the daemon has ended."""
        self._alive()
        marked = f'"{event}"'.encode()
        with self._log.open("rb") as log:
            lines = [json.loads(line) for line in log if marked in line and line.endswith(b"\n")]
        return [line for line in lines if line["event"] == event]

    def trouble(self) -> list[str]:
        """Lines of the log so far that are warnings or errors of its own work: a decision that failed is one."""
        self._alive()
        lines = self._log.read_text(errors="replace").splitlines()
        troubled = [line for line in lines if '"level": "warning"' in line or '"level": "error"' in line]
        return [line for line in troubled if '"target_warning"' not in line]  # what a back end says of a target

    def calm(self, count: int) -> None:
        """Wait until as many cycles have ended one after the other without any trouble. Raises BenchError."""
        ended, troubled = 0, 0

        def true() -> bool:
            nonlocal ended, troubled
            cycles, trouble = len(self.lines("cycle_ended")), len(self.trouble())
            if trouble != troubled:
                ended, troubled = cycles, trouble
            return cycles >= ended + count + 1  # the first one may have begun before the trouble was over

        self.until(true, f"{count} cycles without trouble")

    def until(self, true: Callable[[], bool], what: str) -> None:
        """Wait for it. Raises BenchError."""
        end = time.monotonic() + _PATIENCE_SECONDS
        while not true():
            if time.monotonic() > end:
                raise BenchError(
                    f"{what} did not come within {_PATIENCE_SECONDS:.0f} s; see {self._log.read_text()[-500:]}"
                )
            time.sleep(0.2)

    def cycles(self, count: int) -> Sequence[Mapping[str, Any]]:
        """So many from the beginning."""
        self.until(lambda: len(self.lines("cycle_ended")) >= count, f"cycle {count}")
        return self.lines("cycle_ended")

    def measure(self, count: int) -> Measured:
        """The next `count` cycles."""
        first = max(len(self.lines("cycle_ended")), _UNSETTLED)
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
        """Autoscalers that failed in the newest cycle that has ended, by the daemon's own series."""
        with urllib.request.urlopen(self.url + "/metrics", timeout=60) as answer:
            lines = answer.read().decode().splitlines()
        return sum(line.startswith("autoscaler_metric_failed{") and line.endswith(" 1.0") for line in lines)

    @contextmanager
    def scraped(self) -> Iterator[None]:
        """Meanwhile its `/metrics` are read every PERIOD_SECONDS, as a Prometheus would."""
        over = threading.Event()

        def scrape() -> None:
            while not over.wait(PERIOD_SECONDS):
                self.get("/metrics")

        scraper = threading.Thread(target=scrape)
        scraper.start()
        try:
            yield
        finally:
            over.set()
            scraper.join()

    def _alive(self) -> None:
        if self.process.poll() is not None:
            raise BenchError(f"the daemon ended:\n{self._log.read_text()[-2000:]}")

    def get(self, path: str) -> float:
        """Seconds until its whole answer is there."""
        began = time.perf_counter()
        with urllib.request.urlopen(self.url + path, timeout=60) as answer:
            answer.read()
        return time.perf_counter() - began


@contextmanager
def running_daemon(document: Mapping[str, Any]) -> Iterator[Daemon]:
    """Listening; its first cycle may be under way."""
    with tempfile.TemporaryDirectory(prefix="bench-fleet-daemon-") as name:
        folder, port = Path(name), free_port()
        settings = {"controller": {"syncPeriod": f"{PERIOD_SECONDS}s"}, "web": {"listenAddress": f"127.0.0.1:{port}"}}
        (folder / "autoscaler.yaml").write_text(json.dumps(settings | dict(document)))
        command = [sys.executable, "-m", "autoscaler", "run", f"--config.file={folder / 'autoscaler.yaml'}"]
        with (folder / "log").open("wb") as output:
            process = subprocess.Popen(
                [*command, "--log.format=json", "--log.level=debug"],
                stdout=output,
                stderr=output,
                env=os.environ | install(folder) | {"STATE_DIRECTORY": str(folder / "state")},
            )
        daemon = Daemon(process, folder, f"http://127.0.0.1:{port}")
        try:
            daemon.until(lambda: _listens(daemon), "its web server")
            yield daemon
        finally:
            process.terminate()
            process.wait()


def _listens(daemon: Daemon) -> bool:
    if daemon.process.poll() is not None:
        raise BenchError(f"the daemon ended:\n{(daemon.folder / 'log').read_text()[-2000:]}")
    try:
        return daemon.get("/-/healthy") >= 0
    except OSError:
        return False
