"""A token bucket for each service of AWS, account and region that bounds the rate of requests.

AWS counts all requests of an account to a service in a region together and does not report how many are left. The
bucket starts at a modest rate, halves it when AWS throttles, and recovers with every success.
Sources: AWS re:Post, "How do I keep my Auto Scaling API calls from being throttled?"; ECS API Reference, "Request
throttling for the Amazon ECS API".
"""

import threading
from typing import Final

from autoscaler.target import TokenBucket

_CAPACITY: Final = 100.0
_FASTEST: Final = 20.0
_SLOWEST: Final = 1.0
"""Requests a second."""
_RECOVERY: Final = 0.5
"""Requests a second regained with each success."""


class Budget:
    """A token bucket. Times are seconds of one monotonic clock."""

    def __init__(self) -> None:
        self._lock = threading.Lock()  # connections to one account share it, each from its own thread
        self._bucket = TokenBucket(_CAPACITY, 1 / _FASTEST)
        self._rate = _FASTEST

    def reserve(self, now: float, patience: float) -> float | None:
        """Return the seconds to wait before one request; None, without taking a token, when longer than `patience`."""
        with self._lock:
            self._bucket.interval_seconds = 1 / self._rate
            return self._bucket.reserve(now, patience)

    def throttled(self, now: float) -> None:
        """Note that AWS throttled a request: halve the rate."""
        with self._lock:
            self._bucket.empty(now)
            self._rate = max(_SLOWEST, self._rate / 2)

    def succeeded(self) -> None:
        """Note that AWS accepted a request."""
        with self._lock:
            self._rate = min(_FASTEST, self._rate + _RECOVERY)


_SHARED: Final[dict[tuple[str, str | None, str | None, str], Budget]] = {}
_SHARING = threading.Lock()


def shared_budget(service: str, endpoint: str | None, account: str | None, region: str) -> Budget:
    """Return the bucket of a service, account and region. Connections of an unknown account share one by region."""
    with _SHARING:
        return _SHARED.setdefault((service, endpoint, account, region), Budget())
