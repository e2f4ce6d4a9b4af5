"""A moment on two clocks: the wall clock, which can be set, and the time since boot.

The state has wall clock times, which people can read. Ages are measured on the other clock.
"""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final

STEP: Final = timedelta(seconds=1)
"""The wall clock was set if the two clocks differ by more than this. NTP slews both alike."""


@dataclass(frozen=True, slots=True)
class Moment:
    """One reading of both clocks."""

    now: datetime
    """The wall clock, aware, UTC."""
    boot: str
    """Identifies the boot from which `elapsed` counts."""
    elapsed: timedelta
    """Time since boot, including sleep. It cannot be set."""
    database: datetime | None = None
    """PostgreSQL's clock then, where the state has one and it was asked."""

    @property
    def booted(self) -> datetime:
        """The time of the boot by the current wall clock. It changes when that clock is set."""
        return self.now - self.elapsed

    def at(self, now: datetime) -> "Moment":
        """Return the moment at which the wall clock shows `now`, unless it is set in between."""
        by = now - self.now
        return replace(self, now=now, elapsed=self.elapsed + by, database=self.database and self.database + by)

    def with_database(self, database: datetime, elapsed: timedelta) -> "Moment":
        """Return the moment with PostgreSQL's clock then. `database`: that clock at `elapsed`, since the same boot."""
        return replace(self, database=database - (elapsed - self.elapsed if self.boot else timedelta(0)))

    def since(self, earlier: "Moment") -> timedelta:
        """Return the time since `earlier`, at least zero. Across boots the wall clock is used."""
        if self.boot == earlier.boot:
            return max(self.elapsed - earlier.elapsed, timedelta(0))
        return max(self.now - earlier.now, timedelta(0))
