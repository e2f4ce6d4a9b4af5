"""Writes workers' output into their logs, none of which outgrows its bound: a program of its own.

Workers outlive the daemon, and so must whoever bounds their logs. A file that a worker wrote by itself would grow as
fast as it writes, and for as long as no daemon runs; a pipe that the daemon read would block its worker, or end it,
when the daemon stops. So every worker writes into a named pipe, and this process reads them all. The worker holds both
ends of its pipe: should this process be killed, the worker waits until the daemon has started another, which finds the
pipe by its name, and nothing is lost.

It ends by itself when the last worker has. Only the standard library, and little of it: it starts in milliseconds.
"""

import fcntl
import os
import resource
import select
import stat
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

LOG_BYTES = 8 * 2**20
"""A log that would become larger moves to `.log.1`: a worker's two take twice this at most."""
PIPE = ".pipe"
LOCK = "drain.lock"
_LOOK_SECONDS = 0.25
"""How soon a new pipe is found; meanwhile it holds 64 KiB."""
_FRESH_NS = 10**9
_UNOPENED_SECONDS = 2.0
_CHUNK = 2**16


class Drain:
    """The pipes in a folder, by file descriptor."""

    def __init__(self, folder: Path, log_bytes: int) -> None:
        self._folder = folder
        self._log_bytes = log_bytes
        self._names: dict[int, str] = {}
        """File descriptor -> worker's name."""
        self._poll = select.poll()
        self._seen = -1
        """When the folder had last changed as it was read, in ns; -1: it is to be read again."""

    def run(self) -> None:
        """Until there is no pipe, or for a while none that can be opened; or the folder is gone."""
        busy = time.monotonic()
        while True:
            try:
                self._find()
            except FileNotFoundError:
                return
            if self._names:
                busy = time.monotonic()
            elif not pipes(self._folder) or time.monotonic() - busy >= _UNOPENED_SECONDS:
                return
            for number, _ in self._poll.poll(_LOOK_SECONDS * 1000):
                self._read(number)

    def _find(self) -> None:
        changed = self._folder.stat().st_mtime_ns
        if changed == self._seen:
            return
        # such times are some ms apart, so a pipe that comes after this could leave the time of a fresh change as it is
        self._seen = changed if abs(time.time_ns() - changed) > _FRESH_NS else -1
        known = set(self._names.values())
        for pipe in pipes(self._folder):
            name = pipe.stem
            if name in known:
                continue
            try:
                number = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
            except OSError:
                self._seen = -1  # too many open files, perhaps; or gone
                continue
            self._names[number] = name
            self._poll.register(number, select.POLLIN)
            self._read(number)  # poll() tells of writers that leave, and not of those that left before

    def _read(self, number: int) -> None:
        try:
            output = os.read(number, _CHUNK)
        except BlockingIOError:
            return
        name = self._names[number]
        if output:
            self._write(name, output)
            return
        self._poll.unregister(number)  # nobody is left who could write
        os.close(number)
        del self._names[number]
        with suppress(OSError):
            (self._folder / f"{name}{PIPE}").unlink()

    def _write(self, name: str, output: bytes) -> None:
        """What does not fit onto the disk is dropped: a worker must not stand still for its log."""
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
    """The named pipes of workers in a folder."""
    found = []
    for path in folder.glob(f"*{PIPE}"):
        with suppress(OSError):
            if stat.S_ISFIFO(path.lstat().st_mode):
                found.append(path)
    return found


def main(folder: Path, log_bytes: int) -> None:
    """Drain the folder's pipes until there are none, unless another process does."""
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))  # one for each worker
    lock = os.open(folder / LOCK, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    while pipes(folder):  # again without the lock: a daemon that found it taken starts no other for a new pipe
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return
        Drain(folder, log_bytes).run()
        fcntl.flock(lock, fcntl.LOCK_UN)


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
