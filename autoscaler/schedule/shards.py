"""Runs all shards on one APScheduler, and works around its pitfalls.

Source: APScheduler 3.11, `schedulers/base.py` and `executors/base.py`.
"""

import time
import zlib
from collections import Counter
from collections.abc import Collection, Mapping
from concurrent.futures import Future, wait
from datetime import UTC, timedelta
from threading import Event
from typing import Final

from apscheduler.events import EVENT_JOB_MAX_INSTANCES, JobEvent
from apscheduler.schedulers.base import BaseScheduler
from apscheduler.schedulers.blocking import BlockingScheduler

from autoscaler.clock import Clock
from autoscaler.errors import bug
from autoscaler.logger import Logger
from autoscaler.model import ShardName
from autoscaler.moment import STEP
from autoscaler.schedule.beat import Beat
from autoscaler.schedule.executor import ShardExecutor
from autoscaler.schedule.shard import Shard
from autoscaler.threads import NoThread, Stop, Stopping, spawn

_SPREAD: Final = 0.1
"""Share of the period over which the shards' ticks are spread, to avoid bursts of queries."""
_POLL_SECONDS: Final = 0.02


class _Scheduler(BlockingScheduler):  # type: ignore[misc]  # APScheduler ships no types
    """Runs its loop on a thread of this package, which can be started again."""

    def start(self) -> None:
        """Let jobs be due. Starts no thread."""
        self._event = Event()
        BaseScheduler.start(self)

    def loop(self) -> None:
        """Start the jobs that are due, until `shutdown`."""
        self._main_loop()


class Shards:
    """Schedules each shard separately, so that a hanging shard delays no other."""

    def __init__(self, clock: Clock, logger: Logger) -> None:
        self._clock = clock
        self._logger = logger
        self._shards: dict[ShardName, Shard] = {}
        self._missed_ticks: Counter[ShardName] = Counter()
        self._superseded: Counter[ShardName] = Counter()
        self._booted = clock.moment().booted
        self._executors: dict[ShardName, ShardExecutor] = {}
        self._loop: Future[None] | None = None
        """The thread that starts the ticks."""
        self._scheduler = _Scheduler(
            timezone=UTC,
            job_defaults={
                "misfire_grace_time": None,  # the default, 1 s, drops a tick that waited for its shard
                "coalesce": True,
                "max_instances": 1,
            },
        )
        self.retired = 0
        """Number of retired shards."""
        self._scheduler.add_listener(self._missed, EVENT_JOB_MAX_INSTANCES)

    def start(self) -> None:
        """Start: every shard ticks at once, then on its grid. Raises NoThread; then `keep_up` starts the ticks."""
        self._scheduler.start()
        self._loop = spawn("ticks", self._scheduler.loop)

    def keep_up(self) -> None:
        """Start the thread of the ticks if there is none, or if it has ended. Raises NoThread."""
        if self._loop is None and self._scheduler.running:
            self._loop = spawn("ticks", self._scheduler.loop)
        if self._loop is not None and self._loop.done():
            error = self._loop.exception()
            self._logger.error("ticks_stopped", error="they go on" if error is None else f"{bug(error)}; they go on")
            self._loop = spawn("ticks", self._scheduler.loop)

    def add(self, shard: Shard) -> None:
        """Add a shard with a thread and a job per period. Raises NoThread."""
        executor = ShardExecutor(_executor(shard), shard.due)
        self._shards[shard.name], self._executors[shard.name] = shard, executor
        self._scheduler.add_executor(executor, _executor(shard))
        self.reschedule(shard)

    def has_ended(self, name: ShardName) -> bool:
        """Return whether this shard has no thread any more: it has no further cycle."""
        executor = self._executors.get(name)
        return executor is None or not executor.alive()

    def reschedule(self, shard: Shard) -> None:
        """Update the jobs after a shard's periods changed. Jobs of unchanged periods keep their ticks."""
        jobs = {job.args[0]: job for job in self._scheduler.get_jobs() if job.executor == _executor(shard)}
        for period in jobs.keys() - shard.periods:
            jobs[period].remove()
        for period in shard.periods - jobs.keys():
            trigger = Beat(period, _phase(shard.name, period), self._clock)
            self._scheduler.add_job(shard.tick, trigger, (period,), id=_job(shard, period), executor=_executor(shard))

    def retire(self, shards: Collection[Shard], *, wait: bool = True) -> None:
        """Stop the ticks of these shards. With `wait`, wait for their running cycles until their deadlines."""
        self.retired += len(shards)
        for shard in shards:
            shard.assign(None)
            for job in self._scheduler.get_jobs():
                if job.executor == _executor(shard):
                    job.remove()
            self._scheduler.remove_executor(_executor(shard), shutdown=False)
            self._executors.pop(shard.name).shutdown()
            del self._shards[shard.name]
        if wait:
            wait_for(shards)

    def stop(self) -> None:
        """Stop all shards. Waits for running cycles until their deadlines."""
        self.retire(tuple(self._shards.values()))
        if self._scheduler.running:
            self._scheduler.shutdown(wait=False)

    def once(self) -> bool:
        """Run one cycle of every batch without the schedule. Returns False if a cycle hangs or has no thread."""
        started = self._clock.monotonic()
        threads = {shard: self._once(shard) for shard in self._shards.values()}
        for shard, thread in threads.items():
            wait([thread], max(0.0, started + shard.allowance() - self._clock.monotonic()))
        wait_for(threads)
        return all(thread.done() and thread.exception() is None for thread in threads.values())

    def _once(self, shard: Shard) -> Future[None]:
        try:
            return spawn(_executor(shard), shard.tick_all)
        except NoThread as error:
            self._logger.error("cycle_failed", **shard.name.labels(), error=str(error))  # noqa: TRY400 - not a bug
            failed = Future[None]()
            failed.set_exception(error)
            return failed

    def begun(self) -> bool:
        """Return whether every shard's first cycle has ended or reached its deadline."""
        return all(shard.begun() for shard in self._shards.values())

    def alive(self) -> bool:
        """Return whether at least one shard's cycles still end."""
        return not self._shards or any(shard.alive() for shard in self._shards.values())

    def hung(self) -> tuple[ShardName, ...]:
        """Return the shards past their deadline, sorted."""
        # any thread may call this
        return tuple(sorted(name for name, shard in self._shards.copy().items() if shard.hung()))

    def missed(self) -> Mapping[str, int]:
        """Return, by adapter, the ticks that found the previous cycle still running."""
        return self._by_adapter(self._missed_ticks)

    def count_superseded(self, name: ShardName) -> None:
        """Count a shard that replaced a hanging one."""
        self._superseded[name] += 1

    def superseded(self) -> Mapping[str, int]:
        """Return, by adapter, how often a hanging shard was replaced."""
        return self._by_adapter(self._superseded)

    def _by_adapter(self, counts: Counter[ShardName]) -> Mapping[str, int]:
        """Sum the counts of every adapter that has shards now, including its earlier shards."""
        sums = dict.fromkeys([name.adapter for name in self._shards.copy()], 0)
        for name, count in counts.copy().items():
            if name.adapter in sums:
                sums[name.adapter] += count
        return sums

    def follow_clock(self) -> None:
        """Reschedule every job after a step of the wall clock. Call it about every second.

        APScheduler compares wall clock times, so after a step back it would wait for the length of the step. A sleep of
        the machine is not a step.
        """
        moment = self._clock.moment()
        step = moment.booted - self._booted
        if abs(step) <= STEP:
            return
        self._booted = moment.booted
        for job in self._scheduler.get_jobs():
            job.modify(next_run_time=job.trigger.get_next_fire_time(moment.now, moment.now))
        self._logger.warning("clock_stepped", seconds=round(step.total_seconds(), 3))

    def _missed(self, event: JobEvent) -> None:
        """Count and log a tick that found the previous cycle still running, as reported by APScheduler."""
        called = event.job_id.rpartition(" ")[0]
        for name in [each for each in self._shards.copy() if str(each) == called]:
            self._missed_ticks[name] += 1
            error = "the previous cycle is still running"
            self._logger.warning("tick_missed", **name.labels(), missed=self._missed_ticks[name], error=error)


def wait_for(shards: Collection[Shard], stop: Stop | None = None) -> None:
    """Wait until no shard is in a cycle, except for hanging shards. Raises Stopping if `stop` is requested first."""
    while any(shard.busy() for shard in shards):
        if stop is not None and stop.asked():
            raise Stopping
        time.sleep(_POLL_SECONDS)


def _executor(shard: Shard) -> str:
    """Return the shard's executor name. APScheduler reserves `default`."""
    return f"shard {shard.name}"


def _job(shard: Shard, period: timedelta) -> str:
    return f"{shard.name} {period.total_seconds()}"


def _phase(name: ShardName, period: timedelta) -> float:
    """Return the phase in seconds, the same for a name at every start."""
    return _SPREAD * period.total_seconds() * zlib.crc32(str(name).encode()) / 2**32
