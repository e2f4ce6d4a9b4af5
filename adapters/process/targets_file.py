"""The file_sd file that lists a pool's workers for Prometheus.

Source: prometheus.io/docs, configuration, `<file_sd_config>`.
"""

import errno
import json
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from adapters.process.file_lock import FileLock, HeldError
from adapters.process.records import Pool, RecordsError, StillKeptError
from autoscaler.target import files

_MODE: Final = 0o644
"""Prometheus runs as another user."""

_OF_SERVICES: Final = tuple(map(Path, ("/etc", "/run", "/srv", "/var")))
_OF_PEOPLE: Final = tuple(map(Path, ("/run/user", "/var/tmp")))  # noqa: S108 - only compared; nothing is written there


class TargetsFile:
    """One pool's targets file, held by one daemon at a time: two would start the pool's workers twice.

    The lock is the file `.NAME.lock` beside it.
    """

    def __init__(self, path: Path, pool: str) -> None:
        self.path, self._pool = path, pool
        self._lock_file = path.with_name(f".{path.name}.lock")
        self._lock: FileLock | None = None
        self._not_locked: OSError | None = None
        self._written: bytes | None = None

    def hold(self) -> None:
        """Become the only daemon with this file. Raises RecordsError if another one is.

        If the lock cannot be created, as in a folder that is missing, the workers are kept, and `publish` fails.
        """
        if self._lock is not None and self._lock.in_place:
            return
        self.release()
        try:
            self._lock, self._not_locked = FileLock.take(self._lock_file, _MODE), None
        except HeldError as held:
            if held.by_this_process:
                raise StillKeptError(
                    f"pool {self._pool}: targetsFile {self.path} still belongs to another connection of this daemon; "
                    "unless that is being replaced now, give each pool a targetsFile of its own"
                ) from None
            raise RecordsError(
                f"pool {self._pool}: another daemon (pid {held.holder}) runs the workers of targetsFile {self.path}, "
                "so this one starts none; stop that daemon and end its workers, or give this pool another targetsFile "
                "and other ports"
            ) from None
        except OSError as error:
            self._not_locked = error

    def release(self) -> None:
        """Let another daemon have the file."""
        if self._lock is not None:
            self._lock.release()
            self._lock = None

    def publish(self, pool: Pool) -> bool:
        """Write the pool's workers, unless the file has them. Raises RecordsError.

        Returns whether another program had changed the file.
        """
        if self._not_locked is not None:
            raise RecordsError(not_locked(self._lock_file, self.path, self._not_locked))
        text = render(self._pool, pool).encode()
        found = self._content(len(text))
        if found == text:
            self._written = text
            return False
        try:
            files.write_atomically(self.path, text, mode=_MODE)
        except OSError as error:
            raise RecordsError(not_written(self.path, error)) from None
        before, self._written = self._written, text
        return None not in (found, before) and found != before

    def _content(self, most: int) -> bytes | None:
        """Return what Prometheus can read there; None: there is no file."""
        try:
            readable = self.path.stat().st_mode & _MODE == _MODE
            return files.read_bounded(self.path, most) if readable else b""
        except FileNotFoundError:
            return None
        except OSError:  # longer, or no file that can be read
            return b""


def render(name: str, pool: Pool) -> str:
    """Return one entry for each staying worker, ready or not: the autoscaler also needs the samples of unready ones.

    The autoscaler joins samples by `instance_id` before `instance`: ports are reused, worker names are not.
    """
    entries = [
        {
            "targets": [f"127.0.0.1:{worker.port}"],
            "labels": {"pool": name, "worker": worker.name, "instance_id": worker.name},
        }
        for worker in pool.staying
        if worker.identity is not None
    ]
    return json.dumps(entries, indent=1) + "\n"


def unwritable(file: Path | None) -> str | None:
    """Return why the folder prevents writing the file, and the remedy; None: no problem is known."""
    return None if file is None else files.unwritable(file)


def not_written(file: Path, error: OSError) -> str:
    """Return the message for a file that could not be written: consequence, cause and remedy."""
    match error.errno:
        case errno.ENOENT | errno.ENOTDIR:
            remedy = f"create the folder {file.parent}, writable for the daemon"
        case errno.EACCES | errno.EPERM:
            remedy = f"make the folder {file.parent} writable for the daemon's user"
        case errno.EROFS:
            remedy = f"write it elsewhere, as in /run/autoscaler, or give the service ReadWritePaths={file.parent}"
        case errno.ENOSPC | errno.EDQUOT:
            remedy = "free disk space"
        case errno.EISDIR:
            remedy = "remove the folder that has its name, or correct targetsFile"
        case _:
            remedy = "correct targetsFile"
    return f"Prometheus does not find the workers: targetsFile {file}: {error.strerror}; {remedy}"


def not_locked(lock: Path, file: Path, error: OSError) -> str:
    """Return the message for a lock that could not be taken."""
    if not os.path.lexists(lock):
        return not_written(file, error)
    return f"Prometheus does not find the workers: {lock}, the lock of targetsFile: {error.strerror}; remove it"


def unreadable(file: Path | None) -> str | None:
    """Return why Prometheus could not read a file in a service's folder; None: no problem is known.

    An operator with the file in a home or temporary folder usually runs Prometheus as the same user.
    """
    closed = None if file is None else files.closed_folder(file)
    if file is None or closed is None or not _is_in(closed[0], _OF_SERVICES) or _is_in(closed[0], _OF_PEOPLE):
        return None
    return files.unreadable_for_others(file)


def _is_in(folder: Path, places: Iterable[Path]) -> bool:
    return any(place in (folder, *folder.parents) for place in places)
