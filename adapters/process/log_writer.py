"""A program that writes the workers' output to their logs and bounds each log's size.

Workers outlive the daemon, so the program that bounds their logs must too. A file that a worker wrote itself would grow
without bound. A pipe that the daemon read would block or end its worker when the daemon stops. So every worker writes
to a named pipe, and this process reads them all. The worker holds both ends of its pipe: when this process is killed,
the worker waits until the daemon has started another one, which finds the pipe by its name. No output is lost.

The process ends when the last worker has ended. It imports little of the standard library, so it starts in
milliseconds.
"""

import fcntl
import os
import resource
import select
import stat
import sys
import time
from collections.abc import Collection, Sequence
from contextlib import suppress
from pathlib import Path

LOG_BYTES = 8 * 2**20
"""A log that would exceed this size moves to `.log.1`, so a worker's two logs take at most twice this."""
PIPE = ".pipe"
LOCK = "log_writer.lock"
_LOOK_SECONDS = 0.25
"""The time within which a new pipe is found. A pipe holds 64 KiB meanwhile."""
_FRESH_NS = 10**9
UNOPENED_SECONDS = 2.0
"""How long pipes that cannot be opened are tried."""
_CHUNK = 2**16


class LogWriter:
    """Copies the pipes of a folder to logs."""

    def __init__(self, folder: Path, log_bytes: int, unopened_seconds: float = UNOPENED_SECONDS) -> None:
        self._folder = folder
        self._log_bytes = log_bytes
        self._unopened_seconds = unopened_seconds
        self._names: dict[int, str] = {}
        """File descriptor -> worker's name."""
        self._poll = select.poll()
        self._seen = -1
        """The folder's modification time in ns when it was last read; -1: read it again."""
        self._left = set[Path]()

    def run(self) -> Collection[Path]:
        """Run until the folder is gone, has no pipe of a worker, or for a while has none that can be opened.

        Returns the pipes of ended workers that cannot be removed: the disk became read-only.
        """
        busy = time.monotonic()
        while True:
            try:
                self._find()
            except FileNotFoundError:
                return self._left
            if self._names:
                busy = time.monotonic()
            elif self._left.issuperset(pipes(self._folder)) or time.monotonic() - busy >= self._unopened_seconds:
                return self._left
            for number, _ in self._poll.poll(_LOOK_SECONDS * 1000):
                self._read(number)

    def _find(self) -> None:
        changed = self._folder.stat().st_mtime_ns
        if changed == self._seen:
            return
        # Modification times are some ms apart: a later pipe could leave a recent one unchanged.
        self._seen = changed if abs(time.time_ns() - changed) > _FRESH_NS else -1
        known = set(self._names.values())
        for pipe in pipes(self._folder):
            name = pipe.stem
            if name in known:
                continue
            try:
                number = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
            except OSError:
                self._seen = -1  # too many open files, or the pipe is gone
                continue
            self._names[number] = name
            self._poll.register(number, select.POLLIN)
            self._read(number)  # poll() does not report writers that left before

    def _read(self, number: int) -> None:
        try:
            output = os.read(number, _CHUNK)
        except BlockingIOError:
            return
        name = self._names[number]
        if output:
            self._write(name, output)
            return
        self._poll.unregister(number)  # no writer is left
        os.close(number)
        del self._names[number]
        pipe = self._folder / f"{name}{PIPE}"
        try:
            pipe.unlink()
        except OSError:
            self._left.add(pipe)

    def _write(self, name: str, output: bytes) -> None:
        """Append the output. Drop it when the disk is full: a worker must not block on its log."""
        log = self._folder / f"{name}.log"
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        with suppress(OSError):
            number = os.open(log, flags, 0o600)
            try:
                if os.fstat(number).st_size + len(output) > self._log_bytes:
                    log.replace(f"{log}.1")
                    os.close(number)
                    number = os.open(log, flags | os.O_EXCL, 0o600)
                os.write(number, output)
            finally:
                os.close(number)


def pipes(folder: Path) -> Sequence[Path]:
    """Return the named pipes of workers in a folder."""
    found = []
    for path in folder.glob(f"*{PIPE}"):
        with suppress(OSError):
            if stat.S_ISFIFO(path.lstat().st_mode):
                found.append(path)
    return found


def main(folder: Path, log_bytes: int, unopened_seconds: float = UNOPENED_SECONDS) -> None:
    """Copy the folder's pipes until none is left, unless another process does."""
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))  # one for each worker
    lock = os.open(folder / LOCK, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    left: Collection[Path] = ()
    # Check again without the lock: a daemon that finds it taken starts no process for a new pipe.
    while not set(pipes(folder)).issubset(left):
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return
        left = LogWriter(folder, log_bytes, unopened_seconds).run()
        fcntl.flock(lock, fcntl.LOCK_UN)


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
