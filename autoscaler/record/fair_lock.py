"""A lock that is handed on in the order in which it was asked for."""

import threading
from collections import deque


class FairLock:
    """One holder at a time. With `threading.Lock` a busy shard could take its turn again before one that waits."""

    def __init__(self) -> None:
        self._mutex = threading.Lock()
        self._held = False
        self._waiting: deque[threading.Lock] = deque()
        """Locks that are held until their thread's turn comes."""

    def acquire(self, timeout: float) -> bool:
        """Wait for one's turn, at most `timeout` seconds. Returns whether it came."""
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
        return True  # it came between the two

    def release(self) -> None:
        """Hand it to who has waited longest."""
        with self._mutex:
            if self._waiting:
                self._waiting.popleft().release()
            else:
                self._held = False
