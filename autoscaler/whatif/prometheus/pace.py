"""The pace of range queries: the live queries of a server come first."""

from collections import deque
from collections.abc import Callable
from statistics import median
from typing import Final

from autoscaler.clock import Clock
from autoscaler.errors import MetricError

_SLOWER: Final = 3.0
"""An answer is slow if it takes this many times the usual time and `_AT_LEAST_SECONDS`."""
_AT_LEAST_SECONDS: Final = 0.1
_USUAL: Final = 15
"""The usual time is the median of this many answers to live queries that were not slow."""
_FIRST: Final = 3
"""Live queries before the first range query, which show the usual time."""
_LONGEST_REST_SECONDS: Final = 10.0
_FIRST_PAUSE_SECONDS: Final = 1.0
_LONGEST_PAUSE_SECONDS: Final = 16.0


class Pace:
    """The pace for one server: range queries take at most half of the time, and wait while live queries are slow."""

    def __init__(self, send_live_query: Callable[[], object], clock: Clock, sleep: Callable[[float], object]) -> None:
        """`send_live_query` sends a query as the daemon does in a cycle; it may raise MetricError."""
        self._send_live_query = send_live_query
        self._clock = clock
        self._sleep = sleep
        self._usual: deque[float] = deque(maxlen=_USUAL)
        self._rest = 0.0
        self.answered = False
        """Whether the server has answered a range query."""

    def wait(self) -> None:
        """Wait until the next range query may be sent. A slow server delays it by half a minute at most."""
        self._sleep(self._rest)
        while len(self._usual) < _FIRST - 1 and (seconds := self._time_live_query()) is not None:
            self._usual.append(seconds)
        pause = _FIRST_PAUSE_SECONDS
        while (seconds := self._time_live_query()) is not None:
            if pause > _LONGEST_PAUSE_SECONDS or not self._is_slow(seconds):
                self._usual.append(seconds)
                return
            self._sleep(pause)
            pause *= 2

    def took(self, seconds: float) -> None:
        """The last range query took this long."""
        self.answered = True
        self._rest = min(seconds, _LONGEST_REST_SECONDS)

    def _is_slow(self, seconds: float) -> bool:
        return bool(self._usual) and seconds > _SLOWER * median(self._usual) + _AT_LEAST_SECONDS

    def _time_live_query(self) -> float | None:
        """Seconds that the live query takes; None if it fails, which the range query will report."""
        began = self._clock.monotonic()
        try:
            self._send_live_query()
        except MetricError:
            return None
        return self._clock.monotonic() - began
