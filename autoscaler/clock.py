"""Time, handed in: the protocol that everybody takes, and the only place that reads time."""

import os
import time
import uuid
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final, Protocol

from autoscaler.moment import Moment

_BOOT_ID: Final = Path("/proc/sys/kernel/random/boot_id")
_VARIABLE: Final = "AUTOSCALER_BOOT_ID"
"""Where systemd says it to a unit that may not read the file (`%b`)."""
_APART_SECONDS: Final = 0.1
"""How far apart two looks may be to count as one."""


class Clock(Protocol):
    """What time it is, for whoever is handed one."""

    def now(self) -> datetime:
        """The wall clock, aware, UTC."""

    def monotonic(self) -> float:
        """Seconds on a scale that never steps, times of sleep included; only differences mean anything."""

    def moment(self) -> Moment:
        """The wall clock and, at the same time, how long ago the machine was started."""


class SystemClock:
    """The machine's clocks, as a `Clock`."""

    def __init__(self) -> None:
        self._boot = _boot_id()

    def now(self) -> datetime:
        """The wall clock, aware, UTC."""
        return datetime.now(UTC)

    def monotonic(self) -> float:
        """CLOCK_BOOTTIME in seconds: a deadline that has passed while the machine slept has passed."""
        return time.clock_gettime(time.CLOCK_BOOTTIME)

    def moment(self) -> Moment:
        """The wall clock and CLOCK_BOOTTIME, which goes on while the machine sleeps (clock_gettime(2))."""
        while True:
            before = time.clock_gettime(time.CLOCK_BOOTTIME)
            now = self.now()
            after = time.clock_gettime(time.CLOCK_BOOTTIME)
            if after - before < _APART_SECONDS:  # else this process was held between the two looks
                return Moment(now, self._boot, timedelta(seconds=before))


def _boot_id() -> str:
    """The same for every process between two starts of the machine; where nothing says it, this process' own."""
    try:
        given = _BOOT_ID.read_text()
    except OSError:
        given = os.environ.get(_VARIABLE) or uuid.uuid4().hex
    return given.strip().replace("-", "").lower()
