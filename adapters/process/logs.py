"""Workers' log files: who writes them, and which are kept."""

import fcntl
import os
import struct
import subprocess
import sys
import termios
import threading
import time
from collections.abc import Collection
from pathlib import Path

from adapters.process import drain
from autoscaler.target import plain

KEPT_LOGS = 10
"""Logs that are kept of workers that are gone."""

_END_BYTES = 4096
_LONGEST_LINE = 300
"""Bytes of a log's last line that are shown."""
_HELD_SECONDS = 1.0
_HELD_AT_MOST_SECONDS = 30.0
_MOST_HELD = 100
"""However many workers start at once: the daemon has other uses for its file descriptors."""


class _Held:
    """Pipes of workers just started: what one wrote that ended at once would be gone before anybody read it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._pipes: dict[int, tuple[Path, float]] = {}
        """File descriptor -> its folder, and since when on the monotonic clock."""

    def add(self, number: int, folder: Path) -> None:
        """Keep it open until it has been read."""
        with self._lock:
            self._pipes[number] = folder, time.monotonic()
            if len(self._pipes) > _MOST_HELD:
                oldest = next(iter(self._pipes))
                os.close(oldest)
                del self._pipes[oldest]

    def release(self, folder: Path, *, unread: bool = False) -> None:
        """Close a folder's pipes that have been read, or for which nobody came; `unread`: all of them."""
        with self._lock:
            now = time.monotonic()
            ours = [(number, now - since) for number, (where, since) in self._pipes.items() if where == folder]
            for number, age_seconds in ours:
                if unread or not _is_needed(number, age_seconds):
                    os.close(number)
                    del self._pipes[number]


def _is_needed(number: int, age_seconds: float) -> bool:
    if age_seconds < _HELD_SECONDS:
        return True
    unread = struct.unpack("i", fcntl.ioctl(number, termios.FIONREAD, bytes(4)))[0]
    return unread > 0 and age_seconds < _HELD_AT_MOST_SECONDS


_held = _Held()


def pipe(log: Path) -> int:
    """A named pipe beside the log, for the worker to write into; the file descriptor holds both of its ends.

    It takes its name with the file descriptor open: one without a writer would count as one whose worker has ended.
    Closed by `Drainer`. Raises OSError.
    """
    draft = log.with_name(f".{log.stem}.new")
    draft.unlink(missing_ok=True)
    os.mkfifo(draft, 0o600)
    number = os.open(draft, os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC)
    _held.add(number, log.parent)
    draft.replace(log.with_suffix(drain.PIPE))
    return number


class Drainer:
    """Sees to it that somebody writes the logs in a folder: a process that outlives this one (`drain`)."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._started: int | None = None
        """Pid of the last that was started here."""

    def ensure(self) -> None:
        """Start one where there is a pipe, unless there is one, from an earlier daemon perhaps. Raises OSError."""
        _held.release(self._folder)
        if not drain.pipes(self._folder):
            return
        if self._started is not None and not _ended(self._started):
            return
        self._started = None
        if self._is_drained():
            return
        process = subprocess.Popen(  # noqa: S603 - our own program, by its path
            [sys.executable, "-I", "-S", drain.__file__, str(self._folder), str(drain.LOG_BYTES)],
            env={},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        process.returncode = 0  # tells Popen to let go: it outlives us
        self._started = process.pid

    def close(self) -> None:
        """Let go of the pipes; who drains them goes on."""
        _held.release(self._folder, unread=True)

    def _is_drained(self) -> bool:
        number = os.open(self._folder / drain.LOCK, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        finally:
            os.close(number)
        return False


def _ended(child: int) -> bool:
    """Whether it has; it is reaped then."""
    try:
        return os.waitpid(child, os.WNOHANG) != (0, 0)
    except ChildProcessError:  # somebody ignores SIGCHLD, so that children leave no zombie
        return True


def forget(folder: Path, names: Collection[str]) -> None:
    """Remove the logs of workers that are gone, but for the newest few; `names` are those that are not."""
    gone = [log for log in folder.glob("*.log") if log.stem not in names]
    gone.sort(key=lambda log: log.stat().st_mtime, reverse=True)
    for log in gone[KEPT_LOGS:]:
        log.unlink(missing_ok=True)
        log.with_name(f"{log.name}.1").unlink(missing_ok=True)


def last_line(log: Path) -> str:
    """The last line of a log that has something in it, made plain and short; empty where there is none to be read."""
    try:
        number = os.open(log, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:  # nothing was written yet
        return ""
    try:
        end = os.pread(number, _END_BYTES, max(0, os.fstat(number).st_size - _END_BYTES)).decode(errors="replace")
    except OSError:  # the worker, who may, has put something else in its place
        return ""
    finally:
        os.close(number)
    return plain(next((line.strip() for line in reversed(end.splitlines()) if line.strip()), ""), _LONGEST_LINE)
