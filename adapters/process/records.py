"""The records of a connection on disk: each pool's size and its workers."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import Any

from adapters.process.procfs import Identity
from autoscaler.target import FileLock, HeldError, files

_MAX_BYTES = 64 * 2**20
"""Bytes of the records. A thousand workers take 400 KB."""


class RecordsError(Exception):
    """The state folder cannot be used now. The message says why and what to do."""


class StillKeptError(RecordsError):
    """The connection that a reload replaces has not released the records yet."""


@dataclass(frozen=True, slots=True)
class Worker:
    """One worker, from before its start until all its processes have ended."""

    name: str
    token: str
    port: int | None
    started_at: datetime
    identity: Identity | None = None
    """None: about to be started. After a crash, the token shows whether it runs."""
    stopping: bool = False
    released: bool = False
    """Whether its drain has ended, in a pool that drains: it may be sent SIGTERM."""
    ready: bool | None = None
    ready_since: datetime | None = None
    probed: str = ""
    """What the last readiness probe got instead of 2xx; empty: it was 2xx, or there was none."""


@dataclass(frozen=True, slots=True)
class Pool:
    """One pool: its size and its workers, oldest first."""

    size: int
    revision: int = 0
    """Counts the changes of `size`."""
    started: int = 0
    """Workers started so far. It numbers their names, so that no name is reused."""
    workers: tuple[Worker, ...] = ()

    @property
    def staying(self) -> tuple[Worker, ...]:
        """Return the workers that are not stopping."""
        return tuple(worker for worker in self.workers if not worker.stopping)

    def resized(self, size: int, victims: tuple[str, ...]) -> "Pool":
        """Return the pool after a decision. Surplus workers are marked to stop: victims first, then the newest."""
        staying = [worker.name for worker in self.staying]
        named = [name for name in dict.fromkeys(victims) if name in staying]
        order = named + [name for name in reversed(staying) if name not in named]
        leaving = frozenset(order[: max(0, len(staying) - size)])
        return replace(self.stopped(leaving), size=size, revision=self.revision + 1)

    def stopped(self, names: frozenset[str]) -> "Pool":
        """Return the pool with these workers marked to stop."""
        return replace(self, workers=tuple(replace(w, stopping=w.stopping or w.name in names) for w in self.workers))

    def released(self, name: str) -> "Pool":
        """Return the pool without the wait of this worker for its drain."""
        workers = tuple(replace(w, released=w.released or (w.stopping and w.name == name)) for w in self.workers)
        return replace(self, workers=workers)


@dataclass(slots=True)
class StateFile:
    """The records' file, replaced in one step, and the lock that makes this process its only keeper."""

    folder: Path
    _lock: FileLock | None = field(default=None, init=False)

    def lock(self) -> None:
        """Become the only keeper. Raises RecordsError when another process is."""
        if self._lock is not None:
            return
        file = self.folder / "lock"
        try:
            self._lock = FileLock.take(file, 0o600)
        except HeldError as held:
            if held.by_this_process:
                raise StillKeptError(f"{self.folder}: the previous connection has not released it yet") from None
            raise RecordsError(
                f"{self.folder}: another daemon manages its workers already (pid {held.holder}); stop that one. "
                "To run two daemons, give each a state folder and pools of its own"
            ) from None
        except OSError as error:
            raise RecordsError(f"{file}: {error.strerror}; make the folder writable") from None

    def unlock(self) -> None:
        """Release the lock."""
        if self._lock is not None:
            self._lock.release()
            self._lock = None

    def load(self) -> dict[str, Pool]:
        """Return the records; empty when there are none yet. Raises RecordsError when they cannot be read.

        A damaged file is an error: if it counted as empty, its workers would be started a second time.
        """
        file = self.folder / "workers.json"
        try:
            content = json.loads(files.read_bounded(file, _MAX_BYTES))
            return {name: _pool(pool) for name, pool in content["pools"].items()}
        except FileNotFoundError:
            return {}
        except OSError as error:
            raise RecordsError(f"{file}: {error.strerror}; make it readable") from None
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise RecordsError(
                f"{file} is damaged ({type(error).__name__}: {error}); restore it, or end its workers and remove it"
            ) from None

    def save(self, pools: Mapping[str, Pool]) -> None:
        """Save the records durably. Raises RecordsError; the old records then remain."""
        file = self.folder / "workers.json"
        content = {"pools": {name: asdict(pool) for name, pool in pools.items()}}
        try:
            files.write_atomically(file, json.dumps(content, default=datetime.isoformat, indent=1))
        except OSError as error:
            raise RecordsError(f"{file}: {error.strerror}; free disk space, or make the folder writable") from None


def _pool(content: dict[str, Any]) -> Pool:
    workers = tuple(_worker(worker) for worker in content["workers"])
    return Pool(content["size"], content["revision"], content["started"], workers)


def _worker(content: dict[str, Any]) -> Worker:
    identity, since = content["identity"], content["ready_since"]
    return Worker(
        **{
            **content,
            "started_at": datetime.fromisoformat(content["started_at"]),
            "identity": identity and Identity(**identity),
            "ready_since": since and datetime.fromisoformat(since),
        }
    )
