"""Growing pauses before the restart of workers that fail."""

from dataclasses import dataclass

FIRST_PAUSE_SECONDS = 0.5
MAX_PAUSE_SECONDS = 60.0
STEADY_SECONDS = 10.0
"""A worker that has run this long has started successfully, like Kubernetes' minReadySeconds."""


@dataclass(slots=True)
class Backoff:
    """The pauses of one pool. Times are on the monotonic clock."""

    cause: str = ""
    """Why workers are missing; empty: none is."""
    until: float = float("-inf")
    """Earliest time of the next start."""
    _failures: int = 0

    def failed(self, cause: str, now: float) -> None:
        """Double the pause. A failure during a pause belongs to the previous failure."""
        self.cause = cause
        if now >= self.until:
            pause = min(FIRST_PAUSE_SECONDS * 2**self._failures, MAX_PAUSE_SECONDS)
            self._failures = min(self._failures + 1, 16)
            self.until = now + pause

    def settle(self, now: float) -> None:
        """Forget the failures once all workers have run for long enough."""
        if self.cause and now >= self.until + STEADY_SECONDS:
            self.cause, self._failures = "", 0
