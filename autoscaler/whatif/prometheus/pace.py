"""How fast range queries follow one another: a server that serves live queries comes first."""

from collections import deque
from collections.abc import Callable
from statistics import median
from typing import Final

from autoscaler.clock import Clock
from autoscaler.errors import MetricError

_SLOWER: Final = 3.0
"""So many times what is usual, and `_AT_LEAST_SECONDS` more, is slow."""
_AT_LEAST_SECONDS: Final = 0.1
_USUAL: Final = 15
"""Answers to live queries, the last ones that were not slow: their median is what is usual."""
_FIRST: Final = 3
"""Live queries before the first range query: how fast the server is without us."""
_LONGEST_REST_SECONDS: Final = 10.0
_FIRST_PAUSE_SECONDS: Final = 1.0
_LONGEST_PAUSE_SECONDS: Final = 16.0


class Pace:
    """Of one server. It is asked half of the time at most, and hardly at all while it answers slowly."""

    def __init__(self, live: Callable[[], object], clock: Clock, sleep: Callable[[float], object]) -> None:
        """`live` asks what a cycle of the daemon would ask now; it may raise MetricError."""
        self._live = live
        self._clock = clock
        self._sleep = sleep
        self._usual: deque[float] = deque(maxlen=_USUAL)
        self._rest = 0.0
        self.answered = False
        """Whether a range query was."""

    def wait(self) -> None:
        """Until the next range query may be sent: half a minute at most, so that a slow server is read in the end."""
        self._sleep(self._rest)
        while len(self._usual) < _FIRST - 1 and (seconds := self._asked()) is not None:
            self._usual.append(seconds)
        pause = _FIRST_PAUSE_SECONDS
        while (seconds := self._asked()) is not None:
            if pause > _LONGEST_PAUSE_SECONDS or not self._is_slow(seconds):
                self._usual.append(seconds)
                return
            self._sleep(pause)
            pause *= 2

    def took(self, seconds: float) -> None:
        """The last range query was answered, after so long."""
        self.answered = True
        self._rest = min(seconds, _LONGEST_REST_SECONDS)

    def _is_slow(self, seconds: float) -> bool:
        return bool(self._usual) and seconds > _SLOWER * median(self._usual) + _AT_LEAST_SECONDS

    def _asked(self) -> float | None:
        """Seconds that the live query takes; None: it failed, and a range query will tell why."""
        began = self._clock.monotonic()
        try:
            self._live()
        except MetricError:
            return None
        return self._clock.monotonic() - began
