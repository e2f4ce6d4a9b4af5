"""The event loop's selector: leaves processor time to the shards while the server is flooded."""

import selectors
import time
from typing import Any, Final

_MOST_DEBT_SECONDS: Final = 0.02
"""Of work without a rest: an answer now and then is never delayed."""


class ConsiderateSelector(selectors.DefaultSelector):
    """Rests as long as the loop has worked.

    Shards and the server share Python's lock. A loop that always has more to do would take it again whenever a shard
    lets go of it to wait for an answer; like this, shards find it free half of the time.
    """

    def __init__(self) -> None:
        super().__init__()
        self._debt = 0.0
        """Seconds of processor time that the loop's thread has used, less what it has rested."""
        self._used: float | None = None

    def select(self, timeout: float | None = None) -> Any:
        """As any selector's, after a rest if one is due."""
        began, used = time.monotonic(), time.thread_time()
        self._debt += used - (used if self._used is None else self._used)
        if self._debt > _MOST_DEBT_SECONDS:
            time.sleep(self._debt)
        ready = super().select(timeout)
        self._debt = max(0.0, self._debt - (time.monotonic() - began))
        self._used = time.thread_time()
        return ready
