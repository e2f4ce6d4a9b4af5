"""The file_sd file that lists a pool's workers for Prometheus.

Source: prometheus.io/docs, configuration, `<file_sd_config>`.
"""

import json
from pathlib import Path
from typing import Final

from adapters.process.records import Pool, RecordsError, StillKeptError
from autoscaler.target import FileLock, HeldError, files

_MODE: Final = 0o644
"""Prometheus runs as another user."""


class TargetsFile:
    """One pool's targets file, held by one daemon at a time: two would start the pool's workers twice.

    The lock is the file `.NAME.lock` beside it.
    """

    def __init__(self, path: Path, pool: str) -> None:
        self.path, self._pool = path, pool
        self._lock_file = path.with_name(f".{path.name}.lock")
        self._lock: FileLock | None = None
        self._not_locked: OSError | None = None

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

    def publish(self, pool: Pool) -> None:
        """Write the pool's workers, unless the file has them. Raises RecordsError."""
        if self._not_locked is not None:
            raise self._unwritten(self._not_locked, f"remove {self._lock_file}, its lock,")
        text = render(self._pool, pool).encode()
        if self._content(len(text)) == text:
            return
        try:
            files.write_atomically(self.path, text, mode=_MODE)
        except OSError as error:
            raise self._unwritten(error, "correct targetsFile,") from None

    def _unwritten(self, error: OSError, remedy: str) -> RecordsError:
        why = files.unwritable(self.path) or (
            f"{error.strerror}; {remedy} or make its folder writable for the daemon (ReadWritePaths= of its unit)"
        )
        return RecordsError(f"Prometheus does not find the workers: targetsFile {self.path}: {why}")

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
