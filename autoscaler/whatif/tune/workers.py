"""Processes that evaluate candidates over one past, so that every core is used. Each holds the past once.

They end with their parent: what they are asked comes through a pipe, and its end is theirs.
"""

import os
import pickle
import re
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from queue import SimpleQueue
from typing import IO, Any, Final, Self

from autoscaler.errors import AutoscalerError
from autoscaler.whatif.past.past import Moment
from autoscaler.whatif.tune.search import Point, Score
from autoscaler.whatif.tune.tuning import Evaluator, Setup, Whole

_BLOCK: Final = 256
"""Moments that are handed over together."""
MOST_BYTES: Final = 128 * 2**20
"""Of a past that is handed over."""
_GROWTH: Final = 6
"""How much more it takes in the memory of a process, at most."""
_NICENESS: Final = 10
"""A daemon on the same machine goes first."""


class Workers:
    """Processes. First they are handed the past (`add`), then what is asked of it (`begin`)."""

    def __init__(self, count: int, room: int | None = None) -> None:
        """At most `count`; fewer where the past would take more than `room` bytes of memory in all of them together.

        None: half of what the machine has available. Raises AutoscalerError where no process can be begun.
        """
        self._room: Final = available_memory() // 2 if room is None else room
        command = [sys.executable, "-P", "-c", f"from {__name__} import main; main()"]
        environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
        self._all: Final = list[subprocess.Popen[bytes]]()
        self._idle: Final = SimpleQueue[subprocess.Popen[bytes]]()
        self._threads: Final = ThreadPoolExecutor(count)
        self._block: list[Moment] = []
        self._sent = 0
        try:
            for _ in range(count):
                worker = subprocess.Popen(  # noqa: S603 - this interpreter, on our own module
                    command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment
                )
                self._all.append(worker)
                self._idle.put(worker)
        except OSError as error:
            self.close()
            raise AutoscalerError(
                f"no process can be begun to evaluate candidates: {error}; free some memory"
            ) from None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End every process."""
        for worker in self._all:
            worker.kill()
        self._threads.shutdown(cancel_futures=True)
        for worker in list(self._all):
            self._end(worker)

    @property
    def count(self) -> int:
        """How many processes there are."""
        return len(self._all)

    def add(self, moment: Moment) -> None:
        """Hand over the next moment. Raises AutoscalerError for a past that is too large."""
        self._block.append(moment)
        if len(self._block) == _BLOCK:
            self._hand_over()

    def begin(self, setup: Setup) -> None:
        """The past is complete; this is what will be asked of it."""
        self._hand_over()
        self._send(setup)

    def scores(self, points: Sequence[Point]) -> Iterator[Score]:
        """What each comes to in the part of the past that is searched, in their order, as they are ready."""
        return self._threads.map(lambda point: self._ask(point, whole=False), points)

    def whole(self, points: Sequence[Point]) -> Sequence[Whole]:
        """What each comes to in the part that is searched, and in the one that is held back."""
        return list(self._threads.map(lambda point: self._ask(point, whole=True), points))

    def _hand_over(self) -> None:
        if self._block:
            self._sent += self._send(self._block)
            self._block = []
        while len(self._all) > 1 and self._sent * _GROWTH * len(self._all) > self._room:
            self._end(self._idle.get())
        if self._sent > MOST_BYTES:
            raise AutoscalerError("its history is too large to be searched at once; shorten it with --since")

    def _end(self, worker: subprocess.Popen[bytes]) -> None:
        self._all.remove(worker)
        worker.kill()
        for pipe in (worker.stdin, worker.stdout):
            if pipe is not None:
                with suppress(OSError):  # what it was not read any more
                    pipe.close()
        worker.wait()

    def _send(self, value: object) -> int:
        data = pickle.dumps(value, pickle.HIGHEST_PROTOCOL)
        for worker in self._all:
            _write(worker, data)
        return len(data)

    def _ask(self, point: Point, *, whole: bool) -> Any:
        worker = self._idle.get()
        try:
            _write(worker, pickle.dumps((point, whole), pickle.HIGHEST_PROTOCOL))
            return pickle.load(_pipe(worker.stdout))  # noqa: S301 - our own code wrote it, as our own user
        except (EOFError, pickle.UnpicklingError):
            raise _ended(worker) from None
        finally:
            self._idle.put(worker)


def _write(worker: subprocess.Popen[bytes], data: bytes) -> None:
    pipe = _pipe(worker.stdin)
    try:
        pipe.write(data)
        pipe.flush()
    except OSError:
        raise _ended(worker) from None


def _ended(worker: subprocess.Popen[bytes]) -> AutoscalerError:
    return AutoscalerError(
        f"a process that evaluates candidates ended with {worker.wait()}; if memory ran out, shorten --since, or use "
        "fewer --processes"
    )


def _pipe(pipe: IO[bytes] | None) -> IO[bytes]:
    if pipe is None:
        raise AssertionError("a worker is begun with pipes")
    return pipe


def available_memory() -> int:
    """Bytes that the machine can give to processes."""
    found = re.search(r"^MemAvailable:\s+(\d+) kB$", Path("/proc/meminfo").read_text(), re.MULTILINE)
    if found is None:
        raise AssertionError("Linux has said this since 3.14")
    return int(found[1]) * 1024


def main() -> None:
    """What a worker does: moments come in, then the setup, then points; what each comes to goes out."""
    output = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # an import may print
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's, which ends us
    os.nice(_NICENESS)
    moments, evaluator = list[Moment](), None
    while True:
        try:
            message = pickle.load(sys.stdin.buffer)  # noqa: S301 - our parent wrote it
        except EOFError:
            return
        match message:
            case list():
                moments += message
            case Setup():
                evaluator = Evaluator(message, moments)
            case (point, whole) if evaluator is not None:
                pickle.dump(evaluator.whole(point) if whole else evaluator.score(point), output)
                output.flush()
