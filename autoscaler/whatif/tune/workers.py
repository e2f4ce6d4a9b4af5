"""Processes that evaluate combinations over one past, so that all cores are used. Each holds the past once."""

import ctypes
import gc
import os
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

_MOST_BYTES: Final = 2**30
"""By how much the past may make this process grow."""
_NICENESS: Final = 10
"""Below a daemon on the same machine."""
_PR_SET_PDEATHSIG: Final = 1
"""Of prctl(2)."""

_T = TypeVar("_T")


class Workers:
    """Takes a past, one cycle after another; `begin` then prepares the processes that evaluate.

    They are forked at the first evaluation, so that the past is in their memory. This process must have no other
    threads then.
    """

    def __init__(self, count: int, room: int | None = None, most_bytes: int = _MOST_BYTES) -> None:
        """At most `count` processes; fewer if they could take more than `room` bytes together.

        None: half of the memory that the machine has available. `most_bytes`: how much this process may grow.
        """
        self.count = count
        """The number of processes, after `begin`."""
        self._room: Final = room
        self._most_bytes: Final = resident_memory() + most_bytes
        self._past: Final = list[Cycle]()
        self._pool: ProcessPoolExecutor | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)

    def add(self, cycle: Cycle) -> None:
        """Take the next cycle. Raises AutoscalerError if the past is too large."""
        self._past.append(cycle)
        if resident_memory() > self._most_bytes:
            raise AutoscalerError("the history is too large to be searched at once; shorten it with --since")

    def begin(self, setup: Setup) -> None:
        """Prepare the processes; the past is complete."""
        room = available_memory() // 2 if self._room is None else self._room
        self.count = max(1, min(self.count, room // resident_memory()))
        evaluator = Evaluator(setup, self._past)
        self._pool = ProcessPoolExecutor(self.count, get_context("fork"), _begin, (evaluator,))

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


def available_memory() -> int:
    """Bytes that the machine can give to processes."""
    found = re.search(r"^MemAvailable:\s+(\d+) kB$", Path("/proc/meminfo").read_text(), re.MULTILINE)
    if found is None:
        raise AssertionError("Linux reports this since 3.14")
    return int(found[1]) * 1024


def resident_memory() -> int:
    """Bytes that this process has in memory."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


_EVALUATOR: Final = list[Evaluator]()
"""In a worker process: its evaluator."""


def _begin(evaluator: Evaluator) -> None:
    """Runs first in a worker process."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)  # so that it ends when its parent is killed
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # so that Ctrl-C ends it without a traceback
    os.nice(_NICENESS)
    gc.freeze()  # the collector would copy the parent's memory
    _EVALUATOR[:] = [evaluator]


def _score(point: Point) -> Score:
    return _EVALUATOR[0].score(point)


def _evaluate(point: Point) -> Evaluation:
    return _EVALUATOR[0].evaluate(point)
