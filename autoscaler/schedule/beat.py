"""Ticks of a job on a grid of the monotonic clock."""

import math
from datetime import datetime, timedelta
from typing import Final

from apscheduler.triggers.base import BaseTrigger

from autoscaler.clock import Clock

_EARLY: Final = 0.1
"""Share of a period by which a tick may be early without firing twice.

APScheduler wakes by the wall clock, which is slewed against the monotonic one.
"""


class Beat(BaseTrigger):  # type: ignore[misc]  # APScheduler ships no types
    """Fires at once, then `phase` seconds after every whole period.

    Each tick is calculated from the monotonic clock alone. So lateness does not accumulate, a step of the wall clock
    moves no tick, and missed ticks are not repeated.
    """

    def __init__(self, period: timedelta, phase: float, clock: Clock) -> None:
        """`phase`, in seconds, spreads the shards' ticks."""
        self._period = period.total_seconds()
        self._clock = clock
        self._anchor = clock.monotonic() + phase
        self._due: tuple[tuple[datetime, float], ...] = ()
        """The fire times of the current and the next tick, each with its monotonic time."""

    def get_next_fire_time(self, previous_fire_time: datetime | None, now: datetime) -> datetime:
        """Return the next tick on the wall clock that shows `now`. Without an earlier tick, that is `now`."""
        seconds = self._clock.monotonic()
        if previous_fire_time is None:
            return self._noted(now, seconds)
        elapsed = seconds - self._anchor
        tick = max(1, math.floor(elapsed / self._period + _EARLY) + 1)
        rest = tick * self._period - elapsed
        return self._noted(now + timedelta(seconds=rest), seconds + rest)

    def due(self, fire_time: datetime) -> float | None:
        """Return the monotonic time of the tick with this fire time, also after the wall clock was set."""
        return dict(self._due).get(fire_time)

    def _noted(self, fire_time: datetime, seconds: float) -> datetime:
        self._due = (*self._due[-1:], (fire_time, seconds))
        return fire_time
