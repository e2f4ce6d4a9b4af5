"""A clock that the test moves."""

from datetime import UTC, datetime, timedelta

from autoscaler.moment import Moment


class FakeClock:
    """Wall and monotonic time advance together, also while the machine sleeps. `step` sets only the wall clock."""

    def __init__(self, wall: datetime = datetime(2026, 5, 4, 12, 0, tzinfo=UTC)) -> None:
        self._wall = wall
        self._monotonic = 0.0
        self._elapsed = timedelta(hours=1)
        self._boots = 1

    def now(self) -> datetime:
        return self._wall

    def monotonic(self) -> float:
        return self._monotonic

    def moment(self) -> Moment:
        return Moment(self._wall, f"boot-{self._boots}", self._elapsed)

    def advance(self, seconds: float) -> None:
        self.sleep(seconds)

    def sleep(self, seconds: float) -> None:
        """Sleep as the kernel does: CLOCK_BOOTTIME continues."""
        self._monotonic += seconds
        self._wall += timedelta(seconds=seconds)
        self._elapsed += timedelta(seconds=seconds)

    def reboot(self) -> None:
        """Reboot the machine without any delay."""
        self._boots += 1
        self._elapsed = timedelta(0)

    def step(self, seconds: float) -> None:
        self._wall += timedelta(seconds=seconds)
