"""Keeps a second daemon of this machine off what only one may serve, such as pools of processes."""

import fcntl
import os
from pathlib import Path

from autoscaler.errors import AdapterError


class HostLock:
    """Held by this process. The kernel lets go of it however the process ends."""

    def __init__(self, file: Path) -> None:
        """Raises AdapterError where another process holds it, or the file cannot be used."""
        try:
            self._file = os.fdopen(os.open(file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600), "r+", encoding="ascii")
        except OSError as error:
            raise AdapterError(f"{file} cannot be used: {error.strerror}; check its folder") from None
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            owner = self._file.read().strip() or "unknown"
            self._file.close()
            raise AdapterError(
                f"another daemon of this machine (pid {owner}) serves it, and holds {file}; stop that one, or give "
                "this one a state folder ($STATE_DIRECTORY) of its own"
            ) from None
        self._file.truncate(0)
        self._file.write(f"{os.getpid()}\n")
        self._file.flush()

    def release(self) -> None:
        """Let another process have it."""
        self._file.close()
