"""A token bucket: so many at once, then one an interval. Source: golang.org/x/time/rate."""


class TokenBucket:
    """Full at first. Times are monotonic seconds. For one thread at a time."""

    def __init__(self, burst: int, interval_seconds: float) -> None:
        """`burst`: tokens that it holds. `interval_seconds`: between two that come in."""
        self._burst = burst
        self._interval = interval_seconds
        self._tokens = float(burst)
        self._at: float | None = None

    def tokens(self, now: float) -> float:
        """How many there are."""
        if self._at is not None:
            self._tokens = min(self._burst, self._tokens + max(0.0, now - self._at) / self._interval)
        self._at = now
        return self._tokens

    def take(self, now: float, count: int = 1) -> bool:
        """Take so many, or none where there are fewer."""
        if self.tokens(now) < count:
            return False
        self._tokens -= count
        return True

    def wait_seconds(self, now: float) -> float:
        """Until there is one."""
        return max(0.0, (1 - self.tokens(now)) * self._interval)
