"""The clocks of tests: one that stands until the test moves it, and the machine's, moved by the test."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from autoscaler.clock import SystemClock
from autoscaler.moment import Moment


class FakeClock:
    """Wall and monotonic time advance together, also while the machine sleeps. `step` sets only the wall clock."""

    def __init__(self, wall: datetime = datetime(2026, 5, 4, 12, 0, tzinfo=UTC)) -> None:
        self.wall = wall
        self._monotonic = 0.0
        self._elapsed = timedelta(hours=1)
        self._boots = 1
        self.slept = list[float]()

    def now(self) -> datetime:
        return self.wall

    def monotonic(self) -> float:
        return self._monotonic

    def moment(self) -> Moment:
        return Moment(self.wall, f"boot-{self._boots}", self._elapsed)

    def advance(self, seconds: float) -> None:
        self._monotonic += seconds
        self.wall += timedelta(seconds=seconds)
        self._elapsed += timedelta(seconds=seconds)

    def sleep(self, seconds: float) -> None:
        """Sleep as the kernel does: CLOCK_BOOTTIME continues."""
        self.slept.append(seconds)
        self.advance(seconds)

    def reboot(self) -> None:
        """Reboot the machine without any delay."""
        self._boots += 1
        self._elapsed = timedelta(0)

    def step(self, seconds: float) -> None:
        self.wall += timedelta(seconds=seconds)


class MovedClock(SystemClock):
    """The machine's clocks, which go on from where the test has put them. For tests with a server or threads."""

    def __init__(self, ahead: timedelta = timedelta(0)) -> None:
        """`ahead`: of the wall clock alone, as if somebody had set it."""
        super().__init__()
        self.ahead = ahead
        self.slept_seconds = 0.0
        """Passed on all clocks beside the machine's own time."""

    def now(self) -> datetime:
        return super().now() + self.ahead + timedelta(seconds=self.slept_seconds)

    def monotonic(self) -> float:
        return super().monotonic() + self.slept_seconds

    def moment(self) -> Moment:
        moment = super().moment()
        return replace(moment, elapsed=moment.elapsed + timedelta(seconds=self.slept_seconds))

    def sleep(self, seconds: float) -> None:
        self.slept_seconds += seconds
