"""Runs one shard's writes in threads, as many as its adapter allows, and keeps track of hanging writes."""

import threading
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Final, NamedTuple

from autoscaler.clock import Clock
from autoscaler.errors import TargetDeferred, TargetUnavailable
from autoscaler.model import Call, Outcome, TargetRef
from autoscaler.threads import NoThread, spawn

_GRACE_SECONDS: Final = 0.2
"""Time after the deadline for an answer: an adapter that times out at the deadline still has to report it."""


class Job(NamedTuple):
    """One write."""

    name: str
    """The autoscaler's name."""
    target: TargetRef
    write: Callable[[], Outcome]
    """Does the write. It only raises what must prevent all further writes."""


@dataclass(slots=True)
class _CycleWrites:
    """The writes of one cycle."""

    waiting: deque[Job]
    outcomes: dict[str, Outcome] = field(default_factory=dict)
    begun: list[Job] = field(default_factory=list)
    writers: int = 0
    """Number of running threads."""
    failure: BaseException | None = None
    """The exception that stopped the writes."""
    over: bool = False
    """Whether the shard has stopped waiting."""


class Writers:
    """Used by the shard's thread. Any thread may read the numbers.

    An adapter that allows one write at a time is called on the shard's own thread, so a hanging write stops the shard.
    Otherwise each write runs in a thread of its own. A write that hangs past the deadline is left behind: the shard
    continues with its other targets, and writes nothing to that target until the write ends.
    """

    def __init__(self, most: int, clock: Clock) -> None:
        """`most`: concurrent writes of all daemons together."""
        self._alone = most == 1
        self._allowed = most
        self._clock = clock
        self._changed = threading.Condition()
        self._hanging: dict[TargetRef, float] = {}
        """Target -> the deadline of its running write."""

    def writing(self) -> bool:
        """Return whether a write is running in a thread of its own."""
        return bool(self._hanging)

    def busy(self) -> frozenset[TargetRef]:
        """Return the targets with a write running in a thread of its own."""
        with self._changed:
            return frozenset(self._hanging)

    def overdue_seconds(self) -> float:
        """Return for how long the longest hanging write is past its deadline; 0 if none is."""
        with self._changed:
            deadline = min(self._hanging.values(), default=None)
        return 0.0 if deadline is None else max(0.0, self._clock.monotonic() - deadline)

    def run(self, jobs: Sequence[Job], call: Call, busy: frozenset[TargetRef] = frozenset()) -> Mapping[str, Outcome]:
        """Run the writes in order and return their outcomes by autoscaler name, soon after the deadline at the latest.

        Nothing is written to `busy` targets, even if their earlier write has ended since. Raises what a write raised,
        and starts no further write then.
        """
        if self._alone:
            return {job.name: job.write() for job in jobs}
        with self._changed:
            busy |= self._hanging.keys()
            cycle = _CycleWrites(deque(job for job in jobs if job.target not in busy))
            cycle.outcomes.update({job.name: _still_under_way(job) for job in jobs if job.target in busy})
            wanted = min(len(cycle.waiting), self._allowed - len(self._hanging))
        for _ in range(wanted):
            self._spawn(cycle, call.deadline)
        with self._changed:
            left = max(0.0, call.deadline - self._clock.monotonic()) + _GRACE_SECONDS
            self._changed.wait_for(lambda: cycle.writers == 0, timeout=left)
            cycle.over = True
            if cycle.failure is not None:
                raise cycle.failure
            late = {job.name: _late(job) for job in cycle.begun}
            crowded = {job.name: _no_free_thread(job, len(self._hanging)) for job in cycle.waiting}
            return late | crowded | cycle.outcomes

    def _spawn(self, cycle: _CycleWrites, deadline: float) -> None:
        with self._changed:
            cycle.writers += 1
        try:
            spawn("writer", partial(self._write, cycle, deadline))
        except NoThread:
            with self._changed:
                cycle.writers -= 1

    def _write(self, cycle: _CycleWrites, deadline: float) -> None:
        while (job := self._next(cycle, deadline)) is not None:
            outcome, failure = None, None
            try:
                outcome = job.write()
            except BaseException as error:  # noqa: BLE001 - raised again on the shard's thread
                failure = error
            with self._changed:
                del self._hanging[job.target]
                cycle.failure = cycle.failure or failure
                if outcome is not None:
                    cycle.outcomes[job.name] = outcome

    def _next(self, cycle: _CycleWrites, deadline: float) -> Job | None:
        with self._changed:
            if cycle.over or cycle.failure is not None or not cycle.waiting:
                cycle.writers -= 1
                self._changed.notify_all()
                return None
            job = cycle.waiting.popleft()
            cycle.begun.append(job)
            self._hanging[job.target] = deadline
            return job


def _no_free_thread(job: Job, hanging: int) -> Outcome:
    return TargetDeferred(
        f"{job.target}: nothing was written because {hanging} earlier writes hang and use all threads; "
        "it goes first in the next cycle"
    )


def _late(job: Job) -> Outcome:
    return TargetUnavailable(
        f"{job.target}: the write had no answer by the cycle's deadline; whether it was carried out is unknown until "
        "the next cycle"
    )


def _still_under_way(job: Job) -> Outcome:
    return TargetDeferred(
        f"{job.target}: nothing was written because an earlier write hangs past its deadline; the daemon tries again "
        "in the cycle after it ends"
    )
