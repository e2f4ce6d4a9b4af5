"""How many queries one source is sent at a time: by all shards together, and by all daemons that share a state."""

import threading
from collections import deque
from typing import Final
from weakref import WeakValueDictionary

from autoscaler.config.settings import PrometheusSource


class Gate:
    """Lets a few in at a time, in the order in which they came; of heavy queries one, when no other query waits.

    A shard has no more of its queries waiting here than may be under way, and comes again after each. So shards take
    turns, and one with a thousand queries keeps another with one waiting for a few only.
    """

    def __init__(self, limit: int) -> None:
        """`limit`: how many are in at a time, of all daemons that share the state."""
        self._lock = threading.Lock()
        self._limit = limit
        self._members = 1
        self._inside = 0
        self._heavy_inside = 0
        self._waiting: deque[threading.Event] = deque()
        self._heavy_waiting: deque[threading.Event] = deque()

    @property
    def limit(self) -> int:
        """How many are in at a time of this daemon's: its share, and at least one."""
        return max(1, self._limit // self._members)

    def follow(self, limit: int | None = None, members: int | None = None) -> None:
        """So many are in at a time from now on, of so many daemons'. With a lower limit, those that are in stay.

        None: as before.
        """
        with self._lock:
            self._limit, self._members = limit or self._limit, members or self._members
            self._admit()

    def enter(self, seconds: float, *, heavy: bool = False) -> bool:
        """Wait for a turn, so long at most. True: the query is in, and leaves."""
        turn, waiting = threading.Event(), self._heavy_waiting if heavy else self._waiting
        with self._lock:
            waiting.append(turn)
            self._admit()
        if turn.wait(max(seconds, 0)):
            return True
        with self._lock:
            if turn.is_set():
                return True
            waiting.remove(turn)
            return False

    def leave(self, *, heavy: bool = False) -> None:
        """Give the turn to the next. `heavy`: as it entered."""
        with self._lock:
            self._inside -= 1
            self._heavy_inside -= heavy
            self._admit()

    def _admit(self) -> None:
        limit = self.limit
        while self._inside < limit:
            if self._waiting:
                turn = self._waiting.popleft()
            elif self._heavy_waiting and not self._heavy_inside:
                turn = self._heavy_waiting.popleft()
                self._heavy_inside += 1
            else:
                break
            self._inside += 1
            turn.set()


class Gates:
    """The gate of each source, for all shards of a daemon. Used from one thread."""

    def __init__(self) -> None:
        self._gates: Final[WeakValueDictionary[tuple[str, str], Gate]] = WeakValueDictionary()

    def of(self, name: str, source: PrometheusSource) -> Gate:
        """The source's, with the limit of these settings from now on. Another server's is another."""
        gate = self._gates.get((name, source.url))
        if gate is None:
            gate = self._gates[name, source.url] = Gate(source.concurrency)
        gate.follow(source.concurrency)
        return gate
