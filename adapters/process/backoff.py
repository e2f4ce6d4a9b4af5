"""Growing pauses before workers that cannot stay up are started again."""

from dataclasses import dataclass

FIRST_PAUSE_SECONDS = 0.5
LONGEST_PAUSE_SECONDS = 60.0
STEADY_SECONDS = 10.0
"""A worker that has run this long did not fail at its start, as Kubernetes' minReadySeconds would say it."""


@dataclass(slots=True)
class Backoff:
    """One pool's. Times are on the monotonic clock."""

    cause: str = ""
    """Why workers are missing; empty when all is well."""
    until: float = float("-inf")
    """No worker is started before."""
    _failures: int = 0

    def failed(self, cause: str, now: float) -> None:
        """Pause, twice as long as the last time; what fails during a pause belongs to the failure before."""
        self.cause = cause
        if now >= self.until:
            pause = min(FIRST_PAUSE_SECONDS * 2**self._failures, LONGEST_PAUSE_SECONDS)
            self._failures = min(self._failures + 1, 16)
            self.until = now + pause

    def settle(self, now: float) -> None:
        """All workers are there: forget the failures once that has lasted."""
        if self.cause and now >= self.until + STEADY_SECONDS:
            self.cause, self._failures = "", 0
