"""A daemon whose wall clock a test sets while it runs; nothing on the machine is touched.

It stands for clock_settime(2) on CLOCK_REALTIME, as `date -s`, `timedatectl set-time`, `chronyc makestep` and
systemd-timesyncd use it. By clock_gettime(2) such a step moves neither CLOCK_MONOTONIC nor CLOCK_BOOTTIME, and by
timer_settime(2), futex(2) no sleep that is under way: so only what reads the wall clock is replaced here, ours and
APScheduler's own.

Run as a program it is `python -m autoscaler`, with the wall clock ahead by the seconds that the file named by
$STEPPED_CLOCK holds (a decimal number, negative: behind; an absent or empty file: none). It is read at every look.

A real Prometheus goes by the machine's own clock, and an answer from another time is an error: let a scripted one
answer in the daemon's time.
"""

import os
import sys
from contextlib import suppress
from datetime import datetime, timedelta, tzinfo
from pathlib import Path
from typing import Final, Self

VARIABLE: Final = "STEPPED_CLOCK"
PROGRAM: Final = (str(Path(__file__).resolve()),)
"""What the interpreter runs in place of `-m autoscaler`."""


class SteppedClock:
    """The wall clock of one daemon, as seen from a test."""

    def __init__(self, folder: Path) -> None:
        """`folder`: for its file; it exists."""
        self._file = folder / "clock-offset"
        self.env: Final = {VARIABLE: str(self._file)}
        """What the daemon needs in its environment."""

    def set(self, seconds: float) -> None:
        """Be so far ahead of the machine's own clock from now on."""
        new = self._file.with_suffix(".new")
        new.write_text(str(seconds))
        new.replace(self._file)  # whole: who reads it in this moment finds the old number or the new one


_last = timedelta()


def offset() -> timedelta:
    """How far ahead the wall clock of this process is: as last read, where no descriptor is left to read it."""
    global _last  # noqa: PLW0603 - a clock belongs to the process
    with suppress(OSError):
        _last = timedelta(seconds=float(Path(os.environ[VARIABLE]).read_text() or 0))
    return _last


def _install() -> None:
    from apscheduler.executors import base as executors
    from apscheduler.schedulers import base as schedulers

    from autoscaler.clock import SystemClock

    class Stepped(datetime):
        """As APScheduler reads the wall clock."""

        @classmethod
        def now(cls, tz: tzinfo | None = None) -> Self:
            return super().now(tz) + offset()

    read = SystemClock.now
    SystemClock.now = lambda self: read(self) + offset()  # type: ignore[method-assign]  # the point of this program
    schedulers.datetime = executors.datetime = Stepped


if __name__ == "__main__":
    del sys.path[0]  # this file's folder, in which other modules would be found under the names of real ones
    _install()
    from autoscaler.__main__ import main

    main()
