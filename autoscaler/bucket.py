"""A token bucket: so many at once, then one an interval. Source: golang.org/x/time/rate."""


class TokenBucket:
    """Full at first. Times are monotonic seconds. For one thread at a time."""

    def __init__(self, burst: float, interval_seconds: float) -> None:
        """`burst`: tokens that it holds. `interval_seconds`: between two that come in. Both may be set later."""
        self.burst = burst
        self.interval_seconds = interval_seconds
        self._tokens = burst
        self._at: float | None = None

    def tokens(self, now: float) -> float:
        """Return the number of tokens; negative: some are reserved."""
        if self._at is not None:
            self._tokens += max(0.0, now - self._at) / self.interval_seconds
        self._tokens = min(self.burst, self._tokens)
        self._at = now
        return self._tokens

    def take(self, now: float, count: int = 1) -> bool:
        """Take so many, or none where there are fewer."""
        if self.tokens(now) < count:
            return False
        self._tokens -= count
        return True

    def reserve(self, now: float, patience: float) -> float | None:
        """Take one that may come in later, and return the seconds until then. None, and none taken: it is too long."""
        wait = max(0.0, (1 - self.tokens(now)) * self.interval_seconds)
        if wait > patience:
            return None
        self._tokens -= 1
        return wait

    def empty(self, now: float) -> None:
        """Leave none. What is reserved stays reserved."""
        self._tokens = min(self.tokens(now), 0.0)
