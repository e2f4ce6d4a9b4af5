"""Processes that evaluate combinations over one past, so that all cores are used. Each holds the past once."""

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
from autoscaler.whatif.past.past import Cycle
from autoscaler.whatif.tune.search import Point, Score
from autoscaler.whatif.tune.tuning import Evaluation, Evaluator, Setup

_BLOCK: Final = 256
"""Cycles that are pickled together."""
_MOST_BYTES: Final = 128 * 2**20
"""Of a pickled past."""
_GROWTH: Final = 6
"""How many times more memory a past takes in a process, at most."""
_NICENESS: Final = 10
"""Below a daemon on the same machine."""
_PR_SET_PDEATHSIG: Final = 1
"""Of prctl(2)."""

_T = TypeVar("_T")


class Workers:
    """Takes a past, one cycle after another; `begin` then starts the processes that evaluate."""

    def __init__(self, count: int, room: int | None = None, most_bytes: int = _MOST_BYTES) -> None:
        """At most `count` processes; fewer if the past would take more than `room` bytes in all of them together.

        None: half of the memory that the machine has available.
        """
        self.count = count
        """The number of processes, after `begin`."""
        self._room: Final = available_memory() // 2 if room is None else room
        self._most_bytes: Final = most_bytes
        self._block: list[Cycle] = []
        self._past: Final = list[bytes]()
        self._bytes = 0
        self._pool: ProcessPoolExecutor | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)

    def add(self, cycle: Cycle) -> None:
        """Take the next cycle. Raises AutoscalerError if the past is too large."""
        self._block.append(cycle)
        if len(self._block) == _BLOCK:
            self._pickle()

    def begin(self, setup: Setup) -> None:
        """Start the processes; the past is complete."""
        self._pickle()
        self.count = max(1, min(self.count, self._room // (self._bytes * _GROWTH)))
        os.environ["PYTHONSAFEPATH"] = "1"  # so that the processes import nothing from the working directory
        self._pool = ProcessPoolExecutor(self.count, get_context("spawn"), _begin, (setup, self._past))

    def scores(self, points: Sequence[Point]) -> Iterator[Score]:
        """Evaluate combinations over the part that is searched; the scores in order, as they become known."""
        return self._answers(_score, points)

    def evaluations(self, points: Sequence[Point]) -> Sequence[Evaluation]:
        """Evaluate combinations over all parts."""
        return list(self._answers(_evaluate, points))

    def _answers(self, ask: Callable[[Point], _T], points: Sequence[Point]) -> Iterator[_T]:
        if self._pool is None:
            raise AssertionError("the processes are started before they evaluate")
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
            raise AutoscalerError("the history is too large to be searched at once; shorten it with --since")


def available_memory() -> int:
    """Bytes that the machine can give to processes."""
    found = re.search(r"^MemAvailable:\s+(\d+) kB$", Path("/proc/meminfo").read_text(), re.MULTILINE)
    if found is None:
        raise AssertionError("Linux reports this since 3.14")
    return int(found[1]) * 1024


_EVALUATOR: Final = list[Evaluator]()
"""In a worker process: its evaluator."""


def _begin(setup: Setup, past: Sequence[bytes]) -> None:
    """Runs first in a worker process."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)  # so that it ends when its parent is killed
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # so that Ctrl-C ends it without a traceback
    os.nice(_NICENESS)
    cycles = [cycle for block in past for cycle in pickle.loads(block)]  # noqa: S301 - the parent process wrote it
    _EVALUATOR.append(Evaluator(setup, cycles))


def _score(point: Point) -> Score:
    return _EVALUATOR[0].score(point)


def _evaluate(point: Point) -> Evaluation:
    return _EVALUATOR[0].evaluate(point)
