"""The only place that reads time."""

import time
from datetime import UTC, datetime


class SystemClock:
    """The machine's clocks (`autoscaler.target.Clock`)."""

    def now(self) -> datetime:
        """The wall clock, aware, UTC."""
        return datetime.now(UTC)

    def monotonic(self) -> float:
        """Seconds on a scale that never steps."""
        return time.monotonic()
