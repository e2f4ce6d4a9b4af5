"""A daemon whose clocks a test sets, or lets run fast, while it runs; nothing on the machine is touched.

**Set**, it stands for clock_settime(2) on CLOCK_REALTIME, as `date -s`, `timedatectl set-time`, `chronyc makestep` and
systemd-timesyncd use it. By clock_gettime(2) such a step moves neither CLOCK_MONOTONIC nor CLOCK_BOOTTIME, and by
timer_settime(2), futex(2) no sleep that is under way: so only what reads the wall clock is replaced here, ours and
APScheduler's own.

**Slept**, it stands for a machine that was suspended and woke again: by clock_gettime(2) the wall clock and
CLOCK_BOOTTIME have gone on meanwhile, CLOCK_MONOTONIC has not. **Suspended** is the same for a daemon that a test has
stopped for as long: its CLOCK_MONOTONIC stood still.

**Booted**, it stands for a machine of its own: with another boot id, and a CLOCK_BOOTTIME that began at another time.

**Fast**, it stands for a day that takes minutes: all three clocks that the daemon reads run so many times as fast, and
so do APScheduler's wait for the next tick and the time limits of HTTP requests. Otherwise a query would take a larger
part of its limit than it may, by the daemon's clock, and count as heavy. Waits for locks are not shortened.

Run as a program it is `python -m autoscaler`, with its clocks as the environment and the file say that `SteppedClock`
writes. The file is read at every look.

A real Prometheus goes by the machine's own clock, and an answer from another time is an error: let a scripted one
answer in the daemon's time, or put `running_faults` with this clock before a real one.
"""

import json
import os
import sys
import time
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime, timedelta, tzinfo
from pathlib import Path
from typing import Any, Final, Self

_VARIABLE: Final = "STEPPED_CLOCK"
PROGRAM: Final = (str(Path(__file__).resolve()),)
"""What the interpreter runs in place of `-m autoscaler`."""
_APART_SECONDS: Final = 0.1
"""How far apart two looks at the clocks may be, in their own time, to count as one."""


@dataclass(frozen=True, slots=True)
class Skew:
    """How a daemon's clocks differ from the machine's own. Times in seconds."""

    ahead: float = 0.0
    """The wall clock was set forward by so much; negative: back."""
    slept: float = 0.0
    """The machine was suspended for so long."""
    speed: float = 1.0
    """All clocks run so many times as fast."""
    since: float = 0.0
    """From when on, by the machine's CLOCK_BOOTTIME."""
    suspended: float = 0.0
    """CLOCK_MONOTONIC stood still for so long, while the daemon was stopped."""
    boot: str = ""
    """The boot id; empty: the machine's own."""
    older: float = 0.0
    """CLOCK_BOOTTIME began so long before the machine's own; negative: after it."""

    def _gained(self, boot: float) -> float:
        return (self.speed - 1) * max(0.0, boot - self.since)

    def looks(self) -> tuple[float, float]:
        """CLOCK_REALTIME and CLOCK_BOOTTIME as the daemon has them, at the same time."""
        while True:
            before = time.clock_gettime(time.CLOCK_BOOTTIME)
            wall = time.time()
            after = time.clock_gettime(time.CLOCK_BOOTTIME)
            if (after - before) * self.speed < _APART_SECONDS:
                gained = self._gained(before) + self.slept
                return wall + gained + self.ahead, before + gained + self.older

    def monotonic(self) -> float:
        """CLOCK_MONOTONIC as the daemon has it."""
        return time.monotonic() + self._gained(time.clock_gettime(time.CLOCK_BOOTTIME)) - self.suspended


class SteppedClock:
    """The clocks of one daemon, as seen from a test."""

    def __init__(self, folder: Path, speed: float = 1.0) -> None:
        """`folder`: for its file; it exists."""
        self._file = folder / "clock"
        self._skew = Skew(speed=speed, since=time.clock_gettime(time.CLOCK_BOOTTIME))
        self.env: Final = {_VARIABLE: str(self._file)}
        """What the daemon needs in its environment."""
        self._write()

    def set(self, seconds: float) -> None:
        """Have the wall clock so far ahead of the machine's own from now on."""
        self._change(ahead=seconds)

    def sleep(self, seconds: float) -> None:
        """Have been suspended for so long, in all."""
        self._change(slept=seconds)

    def suspend(self, seconds: float) -> None:
        """Have been suspended for so long more: the daemon is stopped, and was for as long."""
        self._change(suspended=self._skew.suspended + seconds)

    def boot(self, boot: str, elapsed: float) -> None:
        """Be a machine that was started so many seconds ago, with this boot id."""
        self._change(boot=boot, older=elapsed - time.clock_gettime(time.CLOCK_BOOTTIME))

    def now(self) -> float:
        """The daemon's wall clock, in seconds since 1970."""
        return self._skew.looks()[0]

    def real(self, at: float) -> float:
        """The machine's own time when the daemon's wall clock shows or showed `at`."""
        return time.time() + (at - self.now()) / self._skew.speed

    def _change(self, **clocks: Any) -> None:
        self._skew = replace(self._skew, **clocks)
        self._write()

    def _write(self) -> None:
        new = self._file.with_suffix(".new")
        new.write_text(json.dumps(asdict(self._skew)))
        new.replace(self._file)  # whole: who reads it in this moment finds the old numbers or the new ones


_last = Skew()


def current() -> Skew:
    """How the clocks of this process differ: as last read, where no descriptor is left to read it."""
    global _last  # noqa: PLW0603 - a clock belongs to the process
    with suppress(OSError):
        _last = Skew(**json.loads(Path(os.environ[_VARIABLE]).read_text()))
    return _last


def install() -> None:
    """Have this process go by them, before it begins anything."""
    from apscheduler.executors import base as executors
    from apscheduler.schedulers import base as schedulers
    from requests import Response

    from autoscaler.clock import SystemClock
    from autoscaler.moment import Moment
    from autoscaler.net.session import Session

    class Stepped(datetime):
        """As APScheduler reads the wall clock."""

        @classmethod
        def now(cls, tz: tzinfo | None = None) -> Self:
            return cls.fromtimestamp(current().looks()[0], tz)

    def now(self: SystemClock) -> datetime:
        return datetime.fromtimestamp(current().looks()[0], UTC)

    def monotonic(self: SystemClock) -> float:
        return current().monotonic()

    def moment(self: SystemClock) -> Moment:
        skew = current()
        wall, elapsed = skew.looks()
        return Moment(datetime.fromtimestamp(wall, UTC), skew.boot or self._boot, timedelta(seconds=elapsed))

    process = schedulers.BaseScheduler._process_jobs

    def process_jobs(scheduler: schedulers.BaseScheduler) -> float | None:
        seconds: float | None = process(scheduler)
        return None if seconds is None else seconds / current().speed

    ask = Session.request

    def request(session: Session, method: str, url: str, *, timeout: float, **options: Any) -> Response:
        return ask(session, method, url, timeout=timeout / current().speed, **options)

    # the point of this program
    SystemClock.now, SystemClock.monotonic, SystemClock.moment = now, monotonic, moment  # type: ignore[method-assign]
    schedulers.datetime = executors.datetime = Stepped
    schedulers.BaseScheduler._process_jobs = process_jobs  # of the one that `schedule` uses, whichever that is
    Session.request = request  # type: ignore[method-assign, assignment]


if __name__ == "__main__":
    del sys.path[0]  # this file's folder, in which other modules would be found under the names of real ones
    install()
    from autoscaler.__main__ import main

    main()
