"""Keeps every pool of a connection at its size, in its own thread.

The order of writes makes a kill at any moment safe: a worker is recorded with a token before it is started, and carries
the token in its environment. After a restart, the keeper completes a record without a process from /proc, or drops it
when no process carries its token. So no worker is lost, and none is started twice.
"""

import contextlib
import threading
from collections.abc import Iterator, Mapping
from concurrent.futures import wait
from dataclasses import replace

from adapters.process.procfs import reap
from adapters.process.records import Pool, RecordsError, StateFile, StillKeptError
from adapters.process.settings import ProcessSettings
from adapters.process.targets_file import TargetsFile
from adapters.process.upkeep import Upkeep, present
from autoscaler.target import AdapterContext, Call, TargetUnavailable, spawn

TICK_SECONDS = 0.5
"""The time within which a dead worker is detected."""
PROBE_SECONDS = 1.0
"""Seconds between two readiness probes of a worker."""
_NOT_KEPT = "pool_not_kept"
_NOT_WRITTEN = "targets_file_not_written"
"""Log events of a pool that cannot be kept, and of a targets file that cannot be written."""


class Keeper:
    """The pools of one connection.

    In a dry run it starts and stops nothing, and reads the records of another keeper. A pool whose autoscalers are all
    dry runs is only watched too: its processes and its record are not changed.
    """

    def __init__(self, context: AdapterContext[ProcessSettings]) -> None:
        self._name, self._dry_run = context.name, context.dry_run
        self._clock, self._logger = context.clock, context.logger
        self._settings = context.settings.pools
        self._file = StateFile(context.state_dir)
        self._logs = context.state_dir / "logs"
        drains = {target.name for target in context.drains}
        self._upkeep = {
            name: Upkeep(name, pool, self._logs, self._clock, self._logger, drains=name in drains)
            for name, pool in self._settings.items()
        }
        dry = {target.name for target in context.dry_targets}
        self._watched = frozenset(name for name in self._settings if self._dry_run or name in dry)
        self._kept = {name: upkeep for name, upkeep in self._upkeep.items() if name not in self._watched}
        self._lock = threading.Lock()  # guards the attributes below
        self._pools: dict[str, Pool] | None = None
        self._targets_files = {
            name: TargetsFile(upkeep.settings.targets_file, name)
            for name, upkeep in self._kept.items()
            if upkeep.settings.targets_file is not None
        }
        self._troubles: dict[tuple[str, str], str] = {}
        """Event and pool -> the error that lasts, or none."""
        self._probe_at = float("-inf")
        self._closed = False
        self._wake = threading.Event()
        self._thread = None if self._dry_run else spawn(f"keeper-{self._name}", self._run)

    def close(self) -> None:
        """Stop keeping the pools. The workers go on."""
        with self._lock:
            self._closed = True
            self._file.unlock()
            for file in self._targets_files.values():
                file.release()
        self._wake.set()
        if self._thread is not None:
            wait([self._thread], 0.5)  # longer only during a probe, whose result is dropped

    @contextlib.contextmanager
    def pools(self, call: Call) -> Iterator[Mapping[str, Pool]]:
        """Hold the pools, which change only through `commit` then. Raises TargetUnavailable at the call's deadline."""
        left = call.seconds_left(self._clock.monotonic())
        if left <= 0 or not self._lock.acquire(timeout=left):
            raise TargetUnavailable(
                f"{self._name}: no time is left before the cycle's deadline; the next cycle tries again"
            )
        try:
            if self._closed:
                raise TargetUnavailable(f"{self._name}: the connection is closed; a new one has taken its place")
            yield self._seen()
        except (RecordsError, OSError) as error:
            raise TargetUnavailable(f"{self._name}: {error}") from error
        finally:
            self._lock.release()

    def commit(self, name: str, pool: Pool) -> None:
        """Save a pool's new size durably. The keeper starts or stops workers soon. Call it while you hold `pools`.

        Raises RecordsError if it could not save the size, which then stays as it was.
        """
        self._save({**self._open(), name: pool})
        self._wake.set()

    def only_watches(self, name: str) -> bool:
        """Return whether all autoscalers of the pool are dry runs, so that nothing may change in it."""
        return name in self._watched

    def refusal(self, name: str) -> str | None:
        """Return why the pool is not kept at all (another daemon has its targets file); None: it is kept.

        Call it while you hold `pools`.
        """
        file, refusal = self._targets_files.get(name), None
        if file is not None:
            with self._trouble("targets_file_held", pool=name):
                try:
                    file.hold()
                except RecordsError as error:
                    refusal = str(error)
                    raise
        return refusal

    def problems(self, name: str) -> Iterator[str]:
        """Yield why workers of the pool could not be started, or its targets file not be written.

        Call it while you hold `pools`.
        """
        return filter(None, [self._troubles.get((event, name)) for event in (_NOT_KEPT, _NOT_WRITTEN)])

    def upkeep(self, name: str) -> Upkeep:
        """Return the upkeep of a configured pool. Call it while you hold `pools`."""
        return self._upkeep[name]

    def _run(self) -> None:
        while not self._closed:
            self._wake.clear()
            with self._trouble("pools_not_kept"):
                self._tick()
            self._wake.wait(TICK_SECONDS)

    @contextlib.contextmanager
    def _trouble(self, event: str, **of: str) -> Iterator[None]:
        """Log an internal error once while it lasts, and go on, so that other pools are not affected.

        `of`: the `pool`, unless all are concerned.
        """
        error = ""
        try:
            yield
        except StillKeptError as caught:
            self._logger.debug(event, adapter=self._name, **of, error=str(caught))  # the next tick tries again
        except (RecordsError, OSError) as caught:
            error = str(caught)
        except Exception as caught:  # noqa: BLE001 - if the thread ended, no pool would be kept any more
            error = f"{type(caught).__name__}: {caught}"
        key = event, of.get("pool", "")
        if error and error != self._troubles.get(key):
            self._logger.error(event, adapter=self._name, **of, error=error)
        self._troubles[key] = error

    def _tick(self) -> None:
        with self._lock:
            if self._closed:
                return
            self._open()
            for name, upkeep in self._kept.items():
                if self.refusal(name) is not None:
                    continue
                with self._trouble(_NOT_KEPT, pool=name):
                    self._keep(name, upkeep)
                with self._trouble(_NOT_WRITTEN, pool=name):
                    self._publish(name)
            questions = self._questions()
        if questions:
            self._probe(questions)

    def _probe(self, questions: Mapping[str, tuple[int, str]]) -> None:
        from adapters.process.probe import probe  # noqa: PLC0415 - asyncio is slow to import, and `check` needs none

        answers = probe(questions)  # takes up to a second, so the lock is not held
        with self._lock:
            if not self._closed:
                self._note_readiness(answers)

    def _keep(self, name: str, upkeep: Upkeep) -> None:
        pools = self._open()
        taken = {worker.port for pool in pools.values() for worker in pool.workers if worker.port is not None}
        left = upkeep.remove_ended(pools[name])
        upkeep.stop(left)
        planned = upkeep.plan(left, taken, self._clock.now())
        self._change(name, planned)  # durable before a worker is started
        launched = upkeep.launch(planned)
        if launched != planned:
            self._pools = {**self._open(), name: launched}  # it runs, even if the record cannot be written now
            self._save(self._pools)

    def _publish(self, name: str) -> None:
        file = self._targets_files.get(name)
        if file is not None:
            file.publish(self._open()[name])

    def _questions(self) -> dict[str, tuple[int, str]]:
        now = self._clock.monotonic()
        if now < self._probe_at:
            return {}
        self._probe_at = now + PROBE_SECONDS
        pools = self._open()
        return {w: where for name, upkeep in self._kept.items() for w, where in upkeep.to_probe(pools[name]).items()}

    def _note_readiness(self, answers: Mapping[str, str]) -> None:
        for name, upkeep in self._kept.items():
            self._change(name, upkeep.note_readiness(self._open()[name], answers, self._clock.now()))

    def _seen(self) -> Mapping[str, Pool]:
        """Return every configured pool; a watched one as /proc shows it now. Raises RecordsError."""
        records = self._file.load() if self._dry_run else self._open()
        watched = {name: records.get(name) or Pool(self._settings[name].initial_replicas) for name in self._watched}
        return records | {name: _as_found(pool) for name, pool in watched.items()}

    def _open(self) -> dict[str, Pool]:
        """Return the records; read once, then ours alone. Raises RecordsError."""
        if self._pools is not None:
            return self._pools
        self._file.lock()
        self._logs.mkdir(mode=0o700, exist_ok=True)
        records = self._file.load()
        pools = {name: pool if name in self._watched else _as_found(pool) for name, pool in records.items()}
        for name in self._kept:
            pools.setdefault(name, Pool(self._settings[name].initial_replicas))
        self._save(pools)
        self._tell_what_was_found(pools)
        return pools

    def _change(self, name: str, pool: Pool) -> None:
        if self._open()[name] != pool:
            self._save({**self._open(), name: pool})

    def _save(self, pools: dict[str, Pool]) -> None:
        self._file.save(pools)
        self._pools = pools

    def _tell_what_was_found(self, pools: Mapping[str, Pool]) -> None:
        for name, pool in pools.items():
            names = [worker.name for worker in pool.workers]
            if name not in self._settings and names:
                remedy = "the daemon does not touch them; configure the pool again, or end them"
                self._logger.warning("pool_not_configured", adapter=self._name, pool=name, workers=names, remedy=remedy)
            elif names:
                self._logger.info("workers_found_again", adapter=self._name, pool=name, workers=names)


def _as_found(pool: Pool) -> Pool:
    """Return the pool without workers that ended while no daemon kept it."""
    for worker in pool.workers:
        if worker.identity is not None:
            reap(worker.identity)
    found = (present(worker) for worker in pool.workers)
    return replace(pool, workers=tuple(worker for worker in found if worker is not None))
