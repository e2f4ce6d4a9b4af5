"""How many queries one source is sent at a time, by all lanes together."""

import threading
from collections import deque
from collections.abc import Callable
from typing import Final
from weakref import WeakValueDictionary

from autoscaler.config.settings import PrometheusSource


class Gate:
    """Lets a few in at a time, in the order in which they came.

    A lane has no more of its queries waiting here than may be under way, and comes again after each. So lanes take
    turns, and one with a thousand queries keeps another with one waiting for a few only.
    """

    def __init__(self, limit: int, members: Callable[[], int] = lambda: 1) -> None:
        """`limit`: how many are in at a time, of all daemons that share the state: so many as `members` says."""
        self._lock = threading.Lock()
        self._limit = limit
        self._members = members
        self._inside = 0
        self._waiting: deque[threading.Event] = deque()

    @property
    def limit(self) -> int:
        """How many are in at a time of this daemon's: its share, and at least one."""
        return max(1, self._limit // self._members())

    def follow(self, limit: int) -> None:
        """So many are in at a time from now on, of all daemons'. With a lower one, those that are in stay."""
        with self._lock:
            self._limit = limit
            self._admit()

    def enter(self, seconds: float) -> bool:
        """Wait for a turn, so long at most. True: whoever asked is in, and leaves."""
        turn = threading.Event()
        with self._lock:
            self._waiting.append(turn)
            self._admit()
        if turn.wait(max(seconds, 0)):
            return True
        with self._lock:
            if turn.is_set():
                return True
            self._waiting.remove(turn)
            return False

    def leave(self) -> None:
        """Give the turn to the next."""
        with self._lock:
            self._inside -= 1
            self._admit()

    def _admit(self) -> None:
        limit = self.limit
        while self._waiting and self._inside < limit:
            self._inside += 1
            self._waiting.popleft().set()


class Gates:
    """The gate of each source, for all lanes of a daemon. Used from one thread."""

    def __init__(self, members: Callable[[], int] = lambda: 1) -> None:
        """`members`: how many daemons divide what a source is sent."""
        self._members = members
        self._gates: Final[WeakValueDictionary[tuple[str, str], Gate]] = WeakValueDictionary()

    def of(self, name: str, source: PrometheusSource) -> Gate:
        """The source's, with the limit of these settings from now on. Another server's is another."""
        gate = self._gates.get((name, source.url))
        if gate is None:
            gate = self._gates[name, source.url] = Gate(source.concurrency, self._members)
        gate.follow(source.concurrency)
        return gate
