"""The steps that keep one pool: remove ended workers, stop surplus ones, start missing ones.

Each step takes the pool's record and returns the next one. `Keeper` saves the record between steps.
"""

import secrets
from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from signal import SIGKILL, SIGTERM, Signals

from adapters.process import procfs
from adapters.process.backoff import STEADY_SECONDS, Backoff
from adapters.process.logs import last_line
from adapters.process.records import Pool, Worker
from adapters.process.settings import PoolSettings
from adapters.process.spawn import free_port, start
from autoscaler.target import Clock, Logger

FAILURES_TO_UNREADY = 3
"""As Kubernetes' probes: failureThreshold 3, successThreshold 1."""

SLOW_START_SECONDS = 30.0
"""Seconds until a worker that is not ready is a warning."""


def present(worker: Worker) -> Worker | None:
    """Return the worker according to /proc: stopping when it ended and left processes, None when all have ended."""
    identity = worker.identity or procfs.leader(worker.token)
    if identity is not None and procfs.runs(identity):
        return replace(worker, identity=identity)
    if procfs.carriers(worker.token):
        return replace(worker, stopping=True)
    return None


class Upkeep:
    """The upkeep of one configured pool. A restart may lose its attributes without harm."""

    def __init__(
        self, name: str, settings: PoolSettings, logs: Path, clock: Clock, logger: Logger, *, drains: bool = False
    ) -> None:
        """`drains`: a worker that stops is sent no signal before its drain has ended."""
        self.settings = settings
        self._drains = drains
        self.no_free_port = False
        """True when the last attempt to start a worker found no free port."""
        self.backoff = Backoff()
        self._name, self._clock, self._logger = name, clock, logger
        self._log = settings.log or logs / f"{name}.log"
        self._kill_at: dict[str, float] = {}
        """Name of a stopping worker -> when its grace period is over."""
        self._failed_probes: dict[str, int] = {}
        """Worker name -> consecutive failed probes."""

    def remove_ended(self, pool: Pool) -> Pool:
        """Return the pool without workers whose processes have all ended."""
        left = []
        for worker in pool.workers:
            found = present(worker)
            gone = found is None or found.stopping
            status = procfs.reap(worker.identity) if gone and worker.identity is not None else None
            if gone and not worker.stopping:
                self._note_death(worker, status)
            if found is not None:
                left.append(found)
                continue
            self._logger.info("worker_gone", pool=self._name, worker=worker.name)
            self._kill_at.pop(worker.name, None)
            self._failed_probes.pop(worker.name, None)
        return replace(pool, workers=tuple(left))

    def awaiting_drain(self, pool: Pool) -> tuple[Worker, ...]:
        """Return the workers that stop and wait for their drain. One whose process has ended has nothing to drain."""
        if not self._drains:
            return ()
        stopping = [worker for worker in pool.workers if worker.stopping and not worker.released]
        return tuple(worker for worker in stopping if worker.identity is not None and procfs.runs(worker.identity))

    def stop(self, pool: Pool) -> None:
        """Send SIGTERM once to each stopping worker that is drained, and SIGKILL after each grace period."""
        now, waiting = self._clock.monotonic(), self.awaiting_drain(pool)
        for worker in pool.workers:
            if not worker.stopping or worker in waiting:
                continue
            if worker.name not in self._kill_at:
                self._kill_at[worker.name] = now + self.settings.grace_period.total_seconds()
                self._logger.info("worker_stopping", pool=self._name, worker=worker.name)
                self._signal(worker, SIGTERM)
            elif now >= self._kill_at[worker.name]:
                self._kill_at[worker.name] = now + self.settings.grace_period.total_seconds()
                self._logger.warning(
                    "worker_killed", pool=self._name, worker=worker.name, why="its gracePeriod is over"
                )
                self._signal(worker, SIGKILL)

    def plan(self, pool: Pool, taken: Collection[int], now: datetime) -> Pool:
        """Return the pool with a record for each missing worker that gets a port. Save it before `launch`."""
        missing, seconds = pool.size - len(pool.staying), self._clock.monotonic()
        self.no_free_port = False
        if missing <= 0:
            self.backoff.settle(seconds)
        if missing <= 0 or seconds < self.backoff.until:
            return pool
        ports, used, planned = self.settings.ports, set(taken), list(pool.workers)
        for number in range(pool.started + 1, pool.started + missing + 1):
            port = None if ports is None else free_port(ports, used, number)
            if ports is not None and port is None:
                self.no_free_port = True
                break
            used |= {port} if port is not None else set()
            planned.append(self._planned(number, port, now))
        return replace(pool, started=pool.started + len(planned) - len(pool.workers), workers=tuple(planned))

    def launch(self, pool: Pool) -> Pool:
        """Return the pool with every planned worker started, without those that cannot be."""
        workers = []
        for worker in pool.workers:
            if worker.identity is not None or worker.stopping:
                workers.append(worker)
                continue
            try:
                identity = start(worker, self.settings, self._log)
            except (OSError, ValueError) as error:  # ValueError: a NUL byte in a word
                self._cannot_start(worker, error)
            else:
                self._logger.info(
                    "worker_started", pool=self._name, worker=worker.name, pid=identity.pid, port=worker.port
                )
                workers.append(replace(worker, identity=identity))
        return replace(pool, workers=tuple(workers))

    def to_probe(self, pool: Pool) -> dict[str, tuple[int, str]]:
        """Return name -> port and path of each worker with a readiness probe."""
        path = None if self.settings.readiness is None else self.settings.readiness.path
        return {w.name: (w.port, path) for w in pool.staying if w.port is not None and path is not None}

    def note_readiness(self, pool: Pool, answers: Mapping[str, str], now: datetime) -> Pool:
        """Return the pool with the probes' results: one success is ready, three failures in a row are not."""
        workers = []
        for worker in pool.workers:
            got = answers.get(worker.name)
            if got is not None:
                ready = self._is_ready(worker, answered=not got)
                since = worker.ready_since if ready == worker.ready else now
                worker = replace(worker, ready=ready, ready_since=since, probed=got)  # noqa: PLW2901
            workers.append(worker)
        return replace(pool, workers=tuple(workers))

    def _is_ready(self, worker: Worker, *, answered: bool) -> bool:
        failed = 0 if answered else self._failed_probes.get(worker.name, 0) + 1
        self._failed_probes[worker.name] = failed
        return answered or (worker.ready is True and failed < FAILURES_TO_UNREADY)

    def _planned(self, number: int, port: int | None, now: datetime) -> Worker:
        token = secrets.token_hex(16)
        if self.settings.readiness is None:
            return Worker(f"{self._name}-{number}", token, port, now)
        return Worker(f"{self._name}-{number}", token, port, now, ready=False, ready_since=now)

    def problems(self, pool: Pool) -> Iterator[str]:
        """Yield why workers are missing, with the last log line of the worker that ended, and why some are not ready.

        The second text is the same for all workers with the same answer, so that it is shown once.
        """
        if cause := self.backoff.cause:
            yield cause
        wrong = next((worker for worker in pool.staying if self._is_unready_for_long(worker)), None)
        if wrong is not None and self.settings.readiness is not None:
            yield f"{self.settings.readiness.told(wrong.probed)}, not 2xx; correct readiness.path, or the workers"

    def _is_unready_for_long(self, worker: Worker) -> bool:
        if worker.ready is not False or not worker.probed or worker.ready_since is None:
            return False
        return (self._clock.now() - worker.ready_since).total_seconds() >= SLOW_START_SECONDS

    def _note_death(self, worker: Worker, status: int | None) -> None:
        age = max(0.0, (self._clock.now() - worker.started_at).total_seconds())  # the clock may have been set back
        self._logger.warning(
            "worker_died",
            pool=self._name,
            worker=worker.name,
            age_seconds=round(age, 1),
            exit_status=status,
            log=str(self._log),
        )
        if age < STEADY_SECONDS:
            end = f"{_ended(status)}, {age:.1f} s after its start"
            line = last_line(self._log)
            cause = f"worker {worker.name} {end}; its output is in {self._log}"
            self.backoff.failed(f"{cause}, the last line: {line}" if line else cause, self._clock.monotonic())

    def _cannot_start(self, worker: Worker, error: Exception) -> None:
        cause = f"worker {worker.name} cannot be started: {error}; correct the pool's command, cwd or log"
        self._logger.error("worker_not_started", pool=self._name, worker=worker.name, error=str(error))
        self.backoff.failed(cause, self._clock.monotonic())

    def _signal(self, worker: Worker, number: Signals) -> None:
        try:
            runs = worker.identity is not None and procfs.signal_group(worker.identity, number)
            if number == SIGKILL or not runs:
                procfs.signal_carriers(worker.token, number)  # its child processes that have left its group
        except PermissionError:
            why = f"it changed its user, and {number.name} is not permitted; end it yourself"
            self._logger.warning("worker_not_signalled", pool=self._name, worker=worker.name, why=why)


def _ended(status: int | None) -> str:
    """Describe an exit. `status`: an exit code, or the negative number of a signal; None: unknown."""
    if status is None:
        return "ended"
    if status >= 0:
        return f"ended with exit code {status}"
    try:
        name = Signals(-status).name
    except ValueError:  # a real-time signal, which has no name
        name = f"signal {-status}"
    return f"was ended by {name}"
