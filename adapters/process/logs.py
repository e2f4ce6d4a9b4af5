"""Workers' log files: the process that writes them, and the logs that are kept."""

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

from adapters.process import log_writer
from autoscaler.target import plain

KEPT_LOGS = 10
"""Logs kept of ended workers."""

_END_BYTES = 4096
_LONGEST_LINE = 300
"""Bytes shown of a log's last line."""
_OPEN_SECONDS = 1.0
_OPEN_AT_MOST_SECONDS = 30.0
_MOST_OPEN = 100
"""Pipes held open at once; the daemon needs its other file descriptors."""


class _OpenPipes:
    """Open pipes of new workers. The output of a worker that ends at once would otherwise be lost before it is read."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._pipes: dict[int, tuple[Path, float]] = {}
        """File descriptor -> its folder, and its opening on the monotonic clock."""

    def add(self, number: int, folder: Path) -> None:
        """Keep a pipe open until it has been read."""
        with self._lock:
            self._pipes[number] = folder, time.monotonic()
            if len(self._pipes) > _MOST_OPEN:
                oldest = next(iter(self._pipes))
                os.close(oldest)
                del self._pipes[oldest]

    def release(self, folder: Path, *, unread: bool = False) -> None:
        """Close a folder's pipes that have been read or are too old; `unread`: all of them."""
        with self._lock:
            now = time.monotonic()
            ours = [(number, now - since) for number, (where, since) in self._pipes.items() if where == folder]
            for number, age_seconds in ours:
                if unread or not _is_needed(number, age_seconds):
                    os.close(number)
                    del self._pipes[number]


def _is_needed(number: int, age_seconds: float) -> bool:
    if age_seconds < _OPEN_SECONDS:
        return True
    unread = struct.unpack("i", fcntl.ioctl(number, termios.FIONREAD, bytes(4)))[0]
    return unread > 0 and age_seconds < _OPEN_AT_MOST_SECONDS


_held = _OpenPipes()


def pipe(log: Path) -> int:
    """Create a named pipe beside the log for the worker to write to. The file descriptor holds both of its ends.

    It is named once the file descriptor is open: a pipe without a writer counts as one whose worker has ended.
    `LogWriterProcess` closes it. Raises OSError.
    """
    draft = log.with_name(f".{log.stem}.new")
    draft.unlink(missing_ok=True)
    os.mkfifo(draft, 0o600)
    number = os.open(draft, os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC)
    _held.add(number, log.parent)
    draft.replace(log.with_suffix(log_writer.PIPE))
    return number


class LogWriterProcess:
    """Ensures that a process which outlives the daemon (`log_writer`) writes the logs of a folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._started: int | None = None
        """Pid of the process that was started here last."""

    def ensure(self) -> None:
        """Start the process if there is a pipe and no process runs, perhaps of an earlier daemon. Raises OSError."""
        _held.release(self._folder)
        if not log_writer.pipes(self._folder):
            return
        if self._started is not None and not _ended(self._started):
            return
        self._started = None
        if self._is_written():
            return
        process = subprocess.Popen(  # noqa: S603 - our own program, by its path
            [sys.executable, "-I", "-S", log_writer.__file__, str(self._folder), str(log_writer.LOG_BYTES)],
            env={},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        process.returncode = 0  # makes Popen release the process, which outlives the daemon
        self._started = process.pid

    def close(self) -> None:
        """Release the pipes. The log writer goes on."""
        _held.release(self._folder, unread=True)

    def _is_written(self) -> bool:
        number = os.open(self._folder / log_writer.LOCK, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        finally:
            os.close(number)
        return False


def _ended(child: int) -> bool:
    """Return whether the process has ended, and reap it then."""
    try:
        return os.waitpid(child, os.WNOHANG) != (0, 0)
    except ChildProcessError:  # SIGCHLD is ignored, so children leave no zombie
        return True


def forget(folder: Path, names: Collection[str]) -> None:
    """Remove the logs of ended workers except the newest few; `names`: the workers that remain."""
    gone = [log for log in folder.glob("*.log") if log.stem not in names]
    gone.sort(key=lambda log: log.stat().st_mtime, reverse=True)
    for log in gone[KEPT_LOGS:]:
        log.unlink(missing_ok=True)
        log.with_name(f"{log.name}.1").unlink(missing_ok=True)


def last_line(log: Path) -> str:
    """Return the last line of a log that is not empty, as short plain text; empty when there is none."""
    try:
        number = os.open(log, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:  # the worker has written nothing yet
        return ""
    try:
        end = os.pread(number, _END_BYTES, max(0, os.fstat(number).st_size - _END_BYTES)).decode(errors="replace")
    except OSError:  # the worker may replace the file
        return ""
    finally:
        os.close(number)
    return plain(next((line.strip() for line in reversed(end.splitlines()) if line.strip()), ""), _LONGEST_LINE)
