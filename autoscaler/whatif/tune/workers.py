"""Processes that evaluate candidates over one past, so that every core is used. Each holds the past once."""

import ctypes
import os
import pickle
import re
import signal
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import get_context
from pathlib import Path
from typing import Final, Self, TypeVar

from autoscaler.errors import AutoscalerError
from autoscaler.whatif.past.past import Moment
from autoscaler.whatif.tune.search import Point, Score
from autoscaler.whatif.tune.tuning import Evaluator, Setup, Whole

_BLOCK: Final = 256
"""Moments that are pickled together."""
MOST_BYTES: Final = 128 * 2**20
"""Of a past that is handed over."""
_GROWTH: Final = 6
"""How much more it takes in the memory of a process, at most."""
_NICENESS: Final = 10
"""A daemon on the same machine goes first."""
_PR_SET_PDEATHSIG: Final = 1
"""Of prctl(2)."""

_T = TypeVar("_T")


class Workers:
    """First the past is added, a moment at a time; `begin` starts the processes, which are then asked."""

    def __init__(self, count: int, room: int | None = None, most_bytes: int = MOST_BYTES) -> None:
        """At most `count` processes; fewer where the past would take more than `room` bytes in all of them together.

        None: half of the memory that the machine has available.
        """
        self.count = count
        """How many processes there are, once they are begun."""
        self._room: Final = available_memory() // 2 if room is None else room
        self._most_bytes: Final = most_bytes
        self._block: list[Moment] = []
        self._past: Final = list[bytes]()
        self._bytes = 0
        self._pool: ProcessPoolExecutor | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)

    def add(self, moment: Moment) -> None:
        """Take in the next moment. Raises AutoscalerError for a past that is too large."""
        self._block.append(moment)
        if len(self._block) == _BLOCK:
            self._pickle()

    def begin(self, setup: Setup) -> None:
        """The past is complete; this is what will be asked of it."""
        self._pickle()
        self.count = max(1, min(self.count, self._room // (self._bytes * _GROWTH)))
        os.environ["PYTHONSAFEPATH"] = "1"  # for the processes: they import nothing from the working directory
        self._pool = ProcessPoolExecutor(self.count, get_context("spawn"), _begin, (setup, self._past))

    def scores(self, points: Sequence[Point]) -> Iterator[Score]:
        """What each comes to in the part of the past that is searched, in their order, as they are ready."""
        return self._answers(_score, points)

    def whole(self, points: Sequence[Point]) -> Sequence[Whole]:
        """What each comes to in the part that is searched, and in the one that is held back."""
        return list(self._answers(_whole, points))

    def _answers(self, ask: Callable[[Point], _T], points: Sequence[Point]) -> Iterator[_T]:
        if self._pool is None:
            raise AssertionError("the processes are begun before they are asked")
        try:
            yield from self._pool.map(ask, points)
        except (BrokenProcessPool, OSError) as error:
            raise AutoscalerError(
                f"a process that evaluates candidates ended: {error}; if memory ran out, shorten --since, or use fewer "
                "--processes"
            ) from None

    def _pickle(self) -> None:
        self._past.append(pickle.dumps(self._block, pickle.HIGHEST_PROTOCOL))
        self._bytes += len(self._past[-1])
        self._block = []
        if self._bytes > self._most_bytes:
            raise AutoscalerError("its history is too large to be searched at once; shorten it with --since")


def available_memory() -> int:
    """Bytes that the machine can give to processes."""
    found = re.search(r"^MemAvailable:\s+(\d+) kB$", Path("/proc/meminfo").read_text(), re.MULTILINE)
    if found is None:
        raise AssertionError("Linux has said this since 3.14")
    return int(found[1]) * 1024


_EVALUATOR: Final = list[Evaluator]()
"""In a worker: its one evaluator."""


def _begin(setup: Setup, past: Sequence[bytes]) -> None:
    """A worker's first call."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)  # it would outlive a parent that is killed
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # Ctrl-C ends it without a traceback
    os.nice(_NICENESS)
    moments = [moment for block in past for moment in pickle.loads(block)]  # noqa: S301 - our parent wrote it
    _EVALUATOR.append(Evaluator(setup, moments))


def _score(point: Point) -> Score:
    return _EVALUATOR[0].score(point)


def _whole(point: Point) -> Whole:
    return _EVALUATOR[0].whole(point)
