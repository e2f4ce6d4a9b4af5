"""When a job is due: a grid on the monotonic clock."""

import math
from datetime import datetime, timedelta
from typing import Final

from apscheduler.triggers.base import BaseTrigger

from autoscaler.clock import Clock

_EARLY: Final = 0.1
"""Share of a period by which a tick may come early and still be that tick: the wall clock, by which APScheduler
wakes, is slewed against the monotonic one, and no tick may fire twice for that."""


class Beat(BaseTrigger):  # type: ignore[misc]  # APScheduler ships no types
    """At once, then `phase` seconds after every whole period since.

    The next tick is reckoned from the monotonic clock and from nothing that went before: lateness and phase never
    add up, a wall clock that steps moves no tick, and what was missed is not made up for.
    """

    def __init__(self, period: timedelta, phase: float, clock: Clock) -> None:
        """`phase` in seconds keeps shards apart."""
        self._period = period.total_seconds()
        self._clock = clock
        self._anchor = clock.monotonic() + phase
        self._due: tuple[tuple[datetime, float], ...] = ()
        """The last two fire times, of the tick that begins and of the one that comes, each with its monotonic time."""

    def get_next_fire_time(self, previous_fire_time: datetime | None, now: datetime) -> datetime:
        """The next tick, as a time on the wall clock that reads `now`; `now` itself when nothing fired before."""
        seconds = self._clock.monotonic()
        if previous_fire_time is None:
            return self._noted(now, seconds)
        elapsed = seconds - self._anchor
        tick = max(1, math.floor(elapsed / self._period + _EARLY) + 1)
        rest = tick * self._period - elapsed
        return self._noted(now + timedelta(seconds=rest), seconds + rest)

    def due(self, fire_time: datetime) -> float | None:
        """When the tick of such a time is due by the monotonic clock, wherever the wall clock was set to since."""
        return dict(self._due).get(fire_time)

    def _noted(self, fire_time: datetime, seconds: float) -> datetime:
        self._due = (*self._due[-1:], (fire_time, seconds))
        return fire_time
