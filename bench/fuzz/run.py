"""Runs one target on numbered inputs, each with a time limit, and collects the results."""

import os
import signal
import time
import traceback
from collections.abc import Iterable
from dataclasses import dataclass, field
from random import Random
from types import FrameType
from typing import Final

from autoscaler.memory import trim
from bench.fuzz.targets import TARGETS
from bench.processes import resident_mebibytes

HANG_SECONDS: Final = 20.0
"""An input that takes longer is a hang. The slowest valid input takes a fiftieth of it on a busy machine."""
_MOST_DEFECTS: Final = 20
"""The run ends after this number of defects."""


@dataclass(slots=True)
class Found:
    """The result of a run."""

    target: str
    inputs: int = 0
    taken: int = 0
    slowest_seconds: float = 0.0
    quarter_mebibytes: float = 0.0
    """Resident MiB after the first quarter, when everything is loaded."""
    end_mebibytes: float = 0.0
    defects: list[str] = field(default_factory=list)
    """Each with the number of the input, from which it can be made again."""


class Hang(Exception):
    """An input took too long."""


def run(
    target: str, seed: int, numbers: range, seconds: float | None = None, *, hang_seconds: float = HANG_SECONDS
) -> Found:
    """Feed these inputs, for at most `seconds`. One that takes `hang_seconds` is a defect."""

    def hang(_number: int, _frame: FrameType | None) -> None:
        raise Hang(f"it took more than {hang_seconds:.0f} s")

    found = Found(target)
    before = signal.signal(signal.SIGALRM, hang)
    try:
        with TARGETS[target][0]() as reader:
            end = None if seconds is None else time.monotonic() + seconds
            for number in numbers:
                if end is not None and time.monotonic() > end:
                    break
                given = reader.make(Random(f"{seed}/{target}/{number}"))
                begin = time.perf_counter()
                signal.setitimer(signal.ITIMER_REAL, hang_seconds)
                try:
                    found.taken += reader.read(given)
                except (Exception, Hang) as error:  # noqa: BLE001 - whatever it is, it is what is looked for
                    found.defects.append(_said(number, given, error))
                finally:
                    signal.setitimer(signal.ITIMER_REAL, 0)
                found.slowest_seconds = max(found.slowest_seconds, time.perf_counter() - begin)
                found.inputs += 1
                if found.inputs == max(1, len(numbers) // 4):
                    trim()
                    found.quarter_mebibytes = resident_mebibytes(os.getpid())
                if len(found.defects) >= _MOST_DEFECTS:
                    break
            trim()
            found.end_mebibytes = resident_mebibytes(os.getpid())
    finally:
        signal.signal(signal.SIGALRM, before)
    return found


def _said(number: int, given: bytes, error: BaseException) -> str:
    place = traceback.extract_tb(error.__traceback__)[-1]
    what = f"{type(error).__name__}: {str(error)[:300]}"
    return f"input {number}: {what} ({place.filename}:{place.lineno}) of {given[:200]!r}"


def numbers_of(only: Iterable[int], first: int, count: int) -> range:
    """Return the numbers to feed: the named one, or `count` numbers from the first on."""
    named = list(only)
    return range(named[0], named[0] + 1) if named else range(first, first + count)
