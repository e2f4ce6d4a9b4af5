"""Measures the resources of the daemon over the day."""

import sqlite3
import threading
from collections.abc import Callable, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from bench.processes import resident_mebibytes

_EVERY_SECONDS: Final = 0.5
_QUARTERS: Final = 4


@dataclass(frozen=True, slots=True)
class Sample:
    """One measurement."""

    part: float
    """The part of the day that is over, 0 to 1."""
    pid: int
    mebibytes: float
    """Resident."""
    descriptors: int
    threads: int
    state_bytes: int
    """Live data in the state, in bytes; 0: it could not be read."""


class Measure:
    """Measures all day, in its own thread."""

    def __init__(self, part: Callable[[], float], pid: Callable[[], int], state: Path) -> None:
        """`part`: returns the part of the day that is over; `pid`: returns the pid of the running daemon."""
        self._part, self._pid, self._state = part, pid, state
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._keep_up, daemon=True)
        self.samples: list[Sample] = []

    def start(self) -> None:
        """Begin to measure."""
        self._thread.start()

    def stop(self) -> None:
        """No more."""
        self._ended.set()
        self._thread.join()

    def _keep_up(self) -> None:
        while not self._ended.wait(_EVERY_SECONDS):
            with suppress(OSError, RuntimeError):  # no process runs between two of them
                pid = self._pid()
                descriptors, threads = _entries(f"/proc/{pid}/fd"), _entries(f"/proc/{pid}/task")
                live = _live_bytes(self._state / "state.db")
                self.samples.append(Sample(self._part(), pid, resident_mebibytes(pid), descriptors, threads, live))


def quarter(samples: Sequence[Sample], number: int) -> Sequence[Sample]:
    """Return the measurements of a quarter of the day, 1 to 4."""
    return [sample for sample in samples if int(sample.part * _QUARTERS) == number - 1]


def _entries(folder: str) -> int:
    return len(list(Path(folder).iterdir()))


def _live_bytes(file: Path) -> int:
    """Return the bytes of the pages in use, which state.maxSize limits."""
    names = ("page_count", "freelist_count", "page_size")
    try:
        with closing(sqlite3.connect(f"{file.as_uri()}?mode=ro", uri=True, timeout=0.1)) as connection:
            pages, free, size = (connection.execute(f"PRAGMA {name}").fetchone()[0] for name in names)
    except sqlite3.Error:  # locked, or the disk is full
        return 0
    return int((pages - free) * size)
