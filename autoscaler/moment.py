"""A moment as two clocks show it: the wall clock, which anybody may set, and the one that counts since the boot.

Memory is kept in times of the wall clock, since people read it; how old something is says the other clock.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

STEP: Final = timedelta(seconds=1)
"""The wall clock was set if it moves further than this against the other one. Slewing by NTP moves both alike."""


@dataclass(frozen=True, slots=True)
class Moment:
    """One look at both clocks."""

    now: datetime
    """The wall clock, aware, UTC."""
    boot: str
    """Which start of the machine it was: the other clock counts from there."""
    elapsed: timedelta
    """Since that start, times of sleep included: nobody can set it."""

    @property
    def booted(self) -> datetime:
        """When the machine was started, as the wall clock would have it now: it moves when that clock is set."""
        return self.now - self.elapsed

    def at(self, now: datetime) -> "Moment":
        """The one at which the wall clock shows this, unless it is set in between."""
        return Moment(now, self.boot, self.elapsed + (now - self.now))

    def since(self, earlier: "Moment") -> timedelta:
        """How long after `earlier` it is, at least zero. Between two starts of the machine the wall clock says it."""
        if self.boot == earlier.boot:
            return max(self.elapsed - earlier.elapsed, timedelta(0))
        return max(self.now - earlier.now, timedelta(0))
