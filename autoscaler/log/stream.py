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
from collections.abc import Callable
from queue import SimpleQueue
from typing import Final, TextIO, cast

from autoscaler.threads import spawn

MAX_WAITING_BYTES: Final = 16 * 2**20
"""Limit of the queue: what 10,000 autoscalers log in a cycle when each decision is logged."""
_AT_ONCE_BYTES: Final = 64 * 2**10
_FINISH_SECONDS: Final = 2.0
_POLL_SECONDS: Final = 0.005


class LogStream(io.TextIOBase):
    """A text file for lines. Any thread can write to it, also while it writes already (from a finalizer)."""

    encoding = "utf-8"
    errors = "backslashreplace"

    def __init__(self, descriptor: int, most_bytes: int = MAX_WAITING_BYTES) -> None:
        """Writes to `descriptor`, which stays open. Raises NoThread."""
        self._descriptor = descriptor
        self._most_bytes = most_bytes
        self._lock = threading.RLock()
        """Guards the counts. Re-entrant, because a finalizer may log."""
        self._lines = SimpleQueue[bytes]()
        self._waiting = 0
        """Bytes in the queue and of the write under way."""
        self._dropped = 0
        self._told = 0
        """How many dropped lines a line has told of."""
        self._torn = False
        """Whether the last write ended inside a line."""
        self._tell: Callable[[int], str] = lambda _: ""
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

    def on_dropped(self, tell: Callable[[int], str]) -> None:
        """Set what returns the line to be written once lines can be written again; it gets the number of lost ones."""
        self._tell = tell

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
            try:
                self._tell_and_write(data)
            except Exception:  # noqa: BLE001 - a bug must not end the thread, and with it the log
                self._drop(data)
            with self._lock:
                self._waiting -= len(data)

    def _tell_and_write(self, data: bytes) -> None:
        if lost := self._dropped - self._told:
            line = self._tell(lost).encode(self.encoding, self.errors)
            if self._write(line) < len(line):
                self._drop(data)
                return
            self._told += lost
        self._drop(data[self._write(data) :])

    def _drop(self, data: bytes) -> None:
        with self._lock:
            self._dropped += data.count(b"\n")

    def _write(self, data: bytes) -> int:
        """Write until it fails. Returns how many bytes are written."""
        if self._torn and data and self._send(b"\n"):
            self._torn = False
        done = 0
        while not self._torn and done < len(data) and (sent := self._send(data[done : done + _AT_ONCE_BYTES])):
            done += sent
        if done:
            self._torn = data[done - 1 : done] != b"\n"
        return done

    def _send(self, data: bytes) -> int:
        """Return how many bytes the descriptor took; 0 if the write failed."""
        while True:
            try:
                return os.write(self._descriptor, data)
            except BlockingIOError:  # another process has made the terminal or the pipe non-blocking
                poll = select.poll()
                poll.register(self._descriptor, select.POLLOUT)
                poll.poll()
            except OSError:
                return 0
