"""The good autoscaler's load, which rises and falls all the time, and how the size follows it."""

import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import cycle
from typing import Final

from rehearse.hostile.notes import Notes
from rehearse.hostile.prometheus import Prometheus

SERIES: Final = "good_load"
TARGET: Final = "good"
_LEVELS: Final = (3, 9)
"""The levels, each an instance more. The same level twice would be no change."""
_HOLDS_PERIODS: Final = 2
"""How long a level stays that was followed at once."""
_POLL_SECONDS: Final = 0.05


@dataclass(frozen=True, slots=True)
class Move:
    """A change of the load's level."""

    at: float
    """Its time, on the monotonic clock."""
    size: int
    after_seconds: float | None
    """Seconds until that size was written; None: never."""


class Load:
    """Changes from `start` to `stop`."""

    def __init__(self, prometheus: Prometheus, notes: Notes, period_seconds: float, patience_periods: float) -> None:
        """`patience_periods`: after this time the next level follows one that was not followed."""
        self._prometheus = prometheus
        self._notes = notes
        self._period = period_seconds
        self.patience_seconds: Final = patience_periods * period_seconds
        self._moves: list[Move] = []
        self._ending = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def start(self) -> None:
        """Begin with the lower level."""
        self._thread.start()

    def stop(self) -> None:
        """Keep the load as it is."""
        self._ending.set()
        self._thread.join()

    def moves(self, since: float) -> Sequence[Move]:
        """Return the changes that began since a time and are over."""
        return [move for move in self._moves if move.at >= since]

    def _run(self) -> None:
        for size in cycle(_LEVELS):
            at = time.monotonic()
            self._prometheus.values[SERIES] = size
            while not self._over(at, size):
                if self._ending.wait(_POLL_SECONDS):
                    return
            written = self._written(at, size)
            self._moves.append(Move(at, size, None if written is None else written - at))

    def _over(self, at: float, size: int) -> bool:
        lasted = time.monotonic() - at
        holds = _HOLDS_PERIODS * self._period
        return lasted >= self.patience_seconds or (lasted >= holds and self._written(at, size) is not None)

    def _written(self, at: float, size: int) -> float | None:
        writes = (note for note in self._notes.all()[-200:] if note.verb == "writes" and note.at >= at)
        return next((note.at for note in writes if note.words == (TARGET, str(size))), None)
