"""A token bucket: so many at once, then one an interval. Source: golang.org/x/time/rate."""


class TokenBucket:
    """A bucket of tokens, full at first. Times are monotonic seconds. One thread at a time may use it."""

    def __init__(self, burst: float, interval_seconds: float) -> None:
        """`burst`: how many tokens it holds. `interval_seconds`: the time until one more comes in.

        Both may be set later.
        """
        self.burst = burst
        self.interval_seconds = interval_seconds
        self._tokens = burst
        self._at: float | None = None

    def tokens(self, now: float) -> float:
        """Return the number of tokens at `now`; negative: so many that come in later are reserved."""
        if self._at is not None:
            self._tokens += max(0.0, now - self._at) / self.interval_seconds
        self._tokens = min(self.burst, self._tokens)
        self._at = now
        return self._tokens

    def take(self, now: float, count: int = 1) -> bool:
        """Take `count` tokens and return True. If there are fewer, take none and return False."""
        if self.tokens(now) < count:
            return False
        self._tokens -= count
        return True

    def reserve(self, now: float, patience: float) -> float | None:
        """Take one token, which may come in later, and return the seconds until then, or 0.

        Takes none and returns None if that is longer than `patience` seconds.
        """
        wait = max(0.0, (1 - self.tokens(now)) * self.interval_seconds)
        if wait > patience:
            return None
        self._tokens -= 1
        return wait

    def empty(self, now: float) -> None:
        """Remove all tokens. A negative number, of reserved tokens, stays as it is."""
        self._tokens = min(self.tokens(now), 0.0)
