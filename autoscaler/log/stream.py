"""The daemon's stderr, which never blocks a writer and never fails.

A thread of its own writes the lines. While a reader does not read, lines wait in a queue. Those that do not fit, and
those that could not be written (a full disk, a reader that is gone), are dropped and counted.
"""

import io
import os
import select
import sys
import threading
import time
from queue import SimpleQueue
from typing import Final, TextIO, cast

from autoscaler.threads import spawn

MOST_WAITING_BYTES: Final = 16 * 2**20
"""Limit of the queue: what 10,000 autoscalers log in a cycle when each decision is logged."""
_AT_ONCE_BYTES: Final = 64 * 2**10
_FINISH_SECONDS: Final = 2.0
_POLL_SECONDS: Final = 0.005


class LogStream(io.TextIOBase):
    """A text file for lines. Any thread can write to it, also while it writes already (from a finalizer)."""

    encoding = "utf-8"
    errors = "backslashreplace"

    def __init__(self, descriptor: int, most_bytes: int = MOST_WAITING_BYTES) -> None:
        """Writes to `descriptor`, which stays open. Raises NoThread."""
        self._descriptor = descriptor
        self._most_bytes = most_bytes
        self._lock = threading.RLock()
        """Guards the counts. Re-entrant, because a finalizer may log."""
        self._lines = SimpleQueue[bytes]()
        self._waiting = 0
        """Bytes in the queue and of the write under way."""
        self._dropped = 0
        spawn("log", self._run)

    @classmethod
    def of_stderr(cls) -> "LogStream":
        """Return a stream that writes to stderr and is `sys.stderr` from now on. Raises NoThread."""
        stream = cls(sys.stderr.fileno())
        sys.stderr = cast("TextIO", stream)
        return stream

    @property
    def dropped(self) -> int:
        """How many lines were not written."""
        return self._dropped

    def isatty(self) -> bool:
        """Return whether it is a terminal."""
        return os.isatty(self._descriptor)

    def fileno(self) -> int:
        """Return the descriptor."""
        return self._descriptor

    def writable(self) -> bool:
        """Return True."""
        return True

    def write(self, text: str) -> int:
        """Have the lines written, or drop them if too many wait."""
        data = text.encode(self.encoding, self.errors)
        with self._lock:
            if self._waiting + len(data) > self._most_bytes:
                self._dropped += data.count(b"\n")
                return len(text)
            self._waiting += len(data)
        self._lines.put(data)
        return len(text)

    def finish(self, seconds: float = _FINISH_SECONDS) -> None:
        """Wait until all lines are written or dropped, at most so long."""
        until = time.monotonic() + seconds
        while self._waiting and time.monotonic() < until:
            time.sleep(_POLL_SECONDS)

    def _run(self) -> None:
        while True:
            data = self._lines.get()
            while len(data) < _AT_ONCE_BYTES and not self._lines.empty():
                data += self._lines.get()
            unwritten = data[self._write(data) :]
            with self._lock:
                self._dropped += unwritten.count(b"\n")
                self._waiting -= len(data)

    def _write(self, data: bytes) -> int:
        """Write until it fails. Returns how many bytes are written."""
        done = 0
        while done < len(data):
            try:
                done += os.write(self._descriptor, data[done : done + _AT_ONCE_BYTES])
            except BlockingIOError:  # another process has made the terminal or the pipe non-blocking
                poll = select.poll()
                poll.register(self._descriptor, select.POLLOUT)
                poll.poll()
            except OSError:
                break
        return done
