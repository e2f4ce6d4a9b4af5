"""Time, handed in: the protocol that everybody takes, and the only place that reads time."""

import time
from datetime import UTC, datetime
from typing import Protocol


class Clock(Protocol):
    """What time it is, for whoever is handed one."""

    def now(self) -> datetime:
        """The wall clock, aware, UTC."""

    def monotonic(self) -> float:
        """Seconds on a scale that never steps; only differences mean anything."""


class SystemClock:
    """The machine's clocks, as a `Clock`."""

    def now(self) -> datetime:
        """The wall clock, aware, UTC."""
        return datetime.now(UTC)

    def monotonic(self) -> float:
        """Seconds on a scale that never steps."""
        return time.monotonic()
