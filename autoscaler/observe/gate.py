"""Limits the concurrent queries to one source, for all shards together."""

import threading
from collections import deque
from typing import Final
from weakref import WeakValueDictionary

from autoscaler.config.settings import PrometheusSource


class Gate:
    """Admits a limited number of queries in order of arrival, and heavy queries one at a time when no other query
    waits.

    A shard queues at most as many queries as may run, and queues again after each. So shards take turns, and a shard
    with a thousand queries delays a shard with one query only briefly.
    """

    def __init__(self, limit: int) -> None:
        self._lock = threading.Lock()
        self._limit = limit
        self._inside = 0
        self._heavy_inside = 0
        self._waiting: deque[threading.Event] = deque()
        self._heavy_waiting: deque[threading.Event] = deque()

    @property
    def limit(self) -> int:
        """Return the number of concurrent queries."""
        return self._limit

    def follow(self, limit: int) -> None:
        """Change the limit. Running queries continue."""
        with self._lock:
            self._limit = limit
            self._admit()

    def enter(self, seconds: float, *, heavy: bool = False) -> bool:
        """Wait for a turn for at most `seconds`. On True, the caller must call `leave` later."""
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
        """Release the turn. `heavy`: as for `enter`."""
        with self._lock:
            self._inside -= 1
            self._heavy_inside -= heavy
            self._admit()

    def _admit(self) -> None:
        while self._inside < self._limit:
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
    """The gates of all sources, shared by all shards of a daemon. Used by one thread."""

    def __init__(self) -> None:
        self._gates: Final[WeakValueDictionary[tuple[str, str], Gate]] = WeakValueDictionary()

    def of(self, name: str, source: PrometheusSource) -> Gate:
        """Return a source's gate and update its limit. A different server has a different gate."""
        gate = self._gates.get((name, source.url))
        if gate is None:
            gate = self._gates[name, source.url] = Gate(source.concurrency)
        gate.follow(source.concurrency)
        return gate
