"""The clock protocol, and the only code that reads the system's clocks."""

import os
import time
import uuid
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final, Protocol

from autoscaler.moment import Moment

_BOOT_ID: Final = Path("/proc/sys/kernel/random/boot_id")
_VARIABLE: Final = "AUTOSCALER_BOOT_ID"
"""Where systemd passes the boot id (`%b`) to a unit that cannot read the file."""
_MAX_READING_SECONDS: Final = 0.1
"""Longest interval between two readings that count as one."""


class Clock(Protocol):
    """Provides the time."""

    def now(self) -> datetime:
        """Return the wall clock, aware, UTC."""

    def monotonic(self) -> float:
        """Return seconds on a scale that never steps and includes sleep. Only differences have a meaning."""

    def moment(self) -> Moment:
        """Return the wall clock and the time since boot, read together."""


class SystemClock:
    """The machine's clocks, as a `Clock`."""

    def __init__(self, boot_id: Path = _BOOT_ID) -> None:
        """`boot_id`: the file with the boot id."""
        self._boot = _boot_id(boot_id)

    def now(self) -> datetime:
        """Return the wall clock, aware, UTC."""
        return datetime.now(UTC)

    def monotonic(self) -> float:
        """Return CLOCK_BOOTTIME in seconds, so that deadlines pass while the machine sleeps."""
        return time.clock_gettime(time.CLOCK_BOOTTIME)

    def moment(self) -> Moment:
        """Return the wall clock and CLOCK_BOOTTIME, which includes sleep (clock_gettime(2))."""
        while True:
            before = time.clock_gettime(time.CLOCK_BOOTTIME)
            now = self.now()
            after = time.clock_gettime(time.CLOCK_BOOTTIME)
            if after - before < _MAX_READING_SECONDS:  # otherwise the process was suspended in between
                return Moment(now, self._boot, timedelta(seconds=before))


def _boot_id(file: Path) -> str:
    """Return the same id for every process of one boot, or one for this process if the boot id is unknown."""
    try:
        boot_id = file.read_text()
    except OSError:
        boot_id = os.environ.get(_VARIABLE) or uuid.uuid4().hex
    return boot_id.strip().replace("-", "").lower()
