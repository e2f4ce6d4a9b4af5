"""One thread for the jobs of one shard."""

from collections.abc import Callable
from datetime import datetime
from queue import SimpleQueue

from apscheduler.executors.base import BaseExecutor, run_job
from apscheduler.job import Job

from autoscaler.threads import spawn


class ShardExecutor(BaseExecutor):  # type: ignore[misc]  # APScheduler ships no types
    """Runs a shard's jobs one at a time, in a daemon thread.

    The interpreter joins APScheduler's own pool at exit, so a hanging job would keep the process alive.
    """

    def __init__(self, name: str, due: Callable[[float | None], None]) -> None:
        """Start the thread, which is called `name`. Raises NoThread.

        `due` is called on that thread with the time at which the starting job was due.
        """
        super().__init__()
        self._due = due
        self._jobs: SimpleQueue[tuple[Job, list[datetime], float | None] | None] = SimpleQueue()
        self._thread = spawn(name, self._work)

    def alive(self) -> bool:
        """Return whether the thread still takes jobs."""
        return not self._thread.done()

    def shutdown(self, wait: bool = True) -> None:  # noqa: ARG002 - BaseExecutor's signature
        """End the thread after its current job, without waiting."""
        self._jobs.put(None)

    def _do_submit_job(self, job: Job, run_times: list[datetime]) -> None:
        self._jobs.put((job, run_times, job.trigger.due(run_times[-1])))

    def _work(self) -> None:
        while (item := self._jobs.get()) is not None:
            job, run_times, due = item
            self._due(due)
            # run_job turns exceptions into events and log records, and raises nothing itself
            events = run_job(job, None, run_times, self._logger.name)
            self._run_job_success(job.id, events)
