"""A file that one process at a time holds. It names the holder's pid, and the kernel releases it when that ends."""

import contextlib
import fcntl
import os
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Final, Self

from autoscaler.net.files import open_or_create

_FLAGS: Final = os.O_RDWR | os.O_APPEND | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


class HeldError(Exception):
    """Another process, or another part of this one, holds the file."""

    def __init__(self, holder: str) -> None:
        super().__init__(holder)
        self.holder = holder
        """The pid, as the holder wrote it."""

    @property
    def by_this_process(self) -> bool:
        """Return whether another part of this process holds the file."""
        return self.holder == str(os.getpid())


@dataclass(frozen=True, slots=True)
class FileLock:
    """A held file."""

    path: Path
    _file: IO[str]

    @classmethod
    def take(cls, path: Path, mode: int) -> Self:
        """Return the held file, created with `mode` if absent. Raises HeldError, OSError."""
        with contextlib.ExitStack() as undo:
            handle = open_or_create(path, _FLAGS, mode)
            file = undo.enter_context(os.fdopen(handle, "a+", encoding="ascii", errors="replace"))
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                file.seek(0)
                raise HeldError(file.read(20).strip() or "unknown") from None
            file.truncate(0)
            file.write(str(os.getpid()))
            file.flush()
            undo.pop_all()  # the file stays open, and held, until `release`
            return cls(path, file)

    @property
    def in_place(self) -> bool:
        """Return whether the held file is still the one at its path: a removed one keeps no other process away.

        A released one is not held: the HTTP server may ask once more while the daemon ends.
        """
        return not self._file.closed and is_at(self.path, os.fstat(self._file.fileno()))

    def release(self) -> None:
        """Let another process take it. The file stays, because its removal could take it away from the next holder."""
        self._file.close()


def is_at(path: Path, known: os.stat_result) -> bool:
    """Return whether the file at the path is the one with this status."""
    try:
        return os.path.samestat(path.stat(), known)
    except OSError:
        return False
