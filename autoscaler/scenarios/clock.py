"""The clock of a scenario."""

from datetime import datetime, timedelta

from autoscaler.moment import Moment


class VirtualClock:
    """A `Clock` that stands still until it is moved. Its wall clock can be set, and the time since its start cannot."""

    def __init__(self, start: datetime) -> None:
        """`start`: aware, UTC."""
        self.elapsed = timedelta(0)
        """Time since the start, by which everything in a scenario happens."""
        self._start = start
        self.wall = start
        """What the wall clock showed at the start, as if it had been set so then."""

    def now(self) -> datetime:
        """Return the wall clock, aware, UTC."""
        return self.wall + self.elapsed

    def true_time(self) -> datetime:
        """Return the time that the wall clock would show if it had not been set."""
        return self._start + self.elapsed

    def monotonic(self) -> float:
        """Return the seconds since the start."""
        return self.elapsed.total_seconds()

    def moment(self) -> Moment:
        """Return the wall clock and the time since the start."""
        return Moment(self.now(), "scenario", self.elapsed)
