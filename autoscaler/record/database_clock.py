"""PostgreSQL: the time of the database, on every host the same whatever that host's own clock says."""

from datetime import datetime, timedelta
from typing import Final

from autoscaler.clock import Clock
from autoscaler.moment import Moment


class DatabaseClock:
    """A `Clock`: the database's time when it was looked at last, and what has gone by since on CLOCK_BOOTTIME.

    While the database is away it goes on from there. Looked at from one thread; any thread reads it.
    """

    def __init__(self, clock: Clock) -> None:
        """`clock`: the machine's. Until `set` it shows that one's time."""
        self._clock: Final = clock
        self._booted = clock.moment().booted

    def now(self) -> datetime:
        """The database's time, aware, UTC."""
        return self._booted + self.elapsed()

    def monotonic(self) -> float:
        """The machine's."""
        return self._clock.monotonic()

    def moment(self) -> Moment:
        """The database's time, and how long ago this machine was started."""
        machine = self._clock.moment()
        return Moment(self._booted + machine.elapsed, machine.boot, machine.elapsed)

    def elapsed(self) -> timedelta:
        """Since the start of this machine, times of sleep included."""
        return self._clock.moment().elapsed

    @property
    def booted(self) -> datetime:
        """When this machine was started, by the database's clock."""
        return self._booted

    def seen(self, now: datetime, sent: timedelta, received: timedelta) -> datetime:
        """`booted` as a look at the database shows it: as near to what it is as the answer's time on the way allows.

        `now`: the database's; `sent` and `received`: `elapsed` before and after.
        """
        return min(max(self._booted, now - received), now - sent)

    def set(self, booted: datetime) -> None:
        """Go by this from now on."""
        self._booted = booted
