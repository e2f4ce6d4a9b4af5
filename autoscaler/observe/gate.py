"""How many queries one source is sent at a time: by all shards together, and by all daemons that share a state."""

import threading
from collections import deque
from collections.abc import Callable
from typing import Final, Protocol
from weakref import WeakValueDictionary

from autoscaler.config.settings import PrometheusSource
from autoscaler.errors import MetricError, StateError
from autoscaler.observe.credentials import without_login


class Permits(Protocol):
    """What daemons take before they ask a source that takes fewer queries at a time than there are daemons."""

    def take(self, of: str, limit: int, seconds: float) -> Callable[[], None] | None:
        """Have one of the `limit` permits called `of`, within `seconds`. Returns what gives it back; None: all are out.

        Raises StateError. It is nobody's any more soon after `seconds`, given back or not.
        """


class Gate:
    """Lets a few in at a time, in the order in which they came; of heavy queries one, when no other query waits.

    A shard has no more of its queries waiting here than may be under way, and comes again after each. So shards take
    turns, and one with a thousand queries keeps another with one waiting for a few only.
    """

    def __init__(
        self, limit: int, members: Callable[[], int] = lambda: 1, permits: Permits | None = None, of: str = ""
    ) -> None:
        """`limit`: how many are in at a time, of all daemons that share the state: so many as `members` says.

        `permits`: what they share where there are more of them than `limit`, and `of` what the source's are called.
        """
        self._lock = threading.Lock()
        self._limit = limit
        self._members = members
        self._permits = permits
        self._of = of
        self._inside = 0
        self._heavy_inside = 0
        self._waiting: deque[threading.Event] = deque()
        self._heavy_waiting: deque[threading.Event] = deque()

    @property
    def limit(self) -> int:
        """How many are in at a time of this daemon's: its share, and at least one."""
        return max(1, self._limit // self._members())

    def follow(self, limit: int) -> None:
        """So many are in at a time from now on, of all daemons'. With a lower one, those that are in stay."""
        with self._lock:
            self._limit = limit
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

    def permit(self, seconds: float) -> Callable[[], None] | MetricError:
        """For whoever is in: what the other daemons leave, waited for so long at most; or why there is nothing.

        Returns what gives it back, to be called once the query is over, within `seconds` from now. Where each daemon
        has a share of at least one, nothing is waited for.
        """
        limit = self._limit
        if self._permits is None or self._members() <= limit:
            return lambda: None
        try:
            give_back = self._permits.take(self._of, limit, seconds)
        except StateError as failure:
            return MetricError(f"was not asked: whether other daemons ask it is not known: {failure}")
        if give_back is None:
            return MetricError(f"was not asked: {limit} queries of other daemons are still under way")
        return give_back

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

    def __init__(self, members: Callable[[], int] = lambda: 1, permits: Permits | None = None) -> None:
        """`members`: how many daemons divide what a source is sent; `permits`: for where it is less than one each."""
        self._members = members
        self._permits = permits
        self._gates: Final[WeakValueDictionary[tuple[str, str], Gate]] = WeakValueDictionary()

    def of(self, name: str, source: PrometheusSource) -> Gate:
        """The source's, with the limit of these settings from now on. Another server's is another."""
        gate = self._gates.get((name, source.url))
        if gate is None:
            of = f"queries of {name} {without_login(source.url)}"
            gate = self._gates[name, source.url] = Gate(source.concurrency, self._members, self._permits, of)
        gate.follow(source.concurrency)
        return gate
