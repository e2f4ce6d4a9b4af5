"""A clock whose hands the test moves."""

from datetime import UTC, datetime, timedelta


class FakeClock:
    """Wall and monotonic time advance together; `step` sets the wall clock alone."""

    def __init__(self) -> None:
        self._wall = datetime(2026, 5, 4, 12, 0, tzinfo=UTC)
        self._monotonic = 0.0

    def now(self) -> datetime:
        return self._wall

    def monotonic(self) -> float:
        return self._monotonic

    def advance(self, seconds: float) -> None:
        self._wall += timedelta(seconds=seconds)
        self._monotonic += seconds

    def step(self, seconds: float) -> None:
        self._wall += timedelta(seconds=seconds)
