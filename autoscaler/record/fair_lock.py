"""A lock that threads get in the order in which they asked for it."""

import threading
from collections import deque


class FairLock:
    """A mutex with a queue. With `threading.Lock` a busy shard could write again before a shard that waits."""

    def __init__(self) -> None:
        self._mutex = threading.Lock()
        self._held = False
        self._waiting: deque[threading.Lock] = deque()
        """One acquired lock per waiting thread, released when it is that thread's turn."""

    def acquire(self, timeout: float) -> bool:
        """Wait at most `timeout` seconds for the lock. Returns whether it was acquired."""
        with self._mutex:
            if not self._held:
                self._held = True
                return True
            turn = threading.Lock()
            turn.acquire()
            self._waiting.append(turn)
        if turn.acquire(timeout=timeout):
            return True
        with self._mutex:
            if turn in self._waiting:
                self._waiting.remove(turn)
                return False
        return True  # the turn came between the time-out and the mutex

    def release(self) -> None:
        """Pass the lock to the thread that has waited longest."""
        with self._mutex:
            if self._waiting:
                self._waiting.popleft().release()
            else:
                self._held = False
