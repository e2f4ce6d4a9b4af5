"""Threads that write for one shard, as many as its adapter takes, and what becomes of a write that hangs."""

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
"""How long past the deadline an answer is waited for: one that timed out at the deadline has to be put into words."""


class Job(NamedTuple):
    """One write."""

    name: str
    """The autoscaler's."""
    target: TargetRef
    write: Callable[[], Outcome]
    """Does it. Raises nothing but what must stop all further ones."""


@dataclass(slots=True)
class _Round:
    """The writes of one cycle."""

    waiting: deque[Job]
    outcomes: dict[str, Outcome] = field(default_factory=dict)
    begun: list[Job] = field(default_factory=list)
    writers: int = 0
    """Threads that are at it."""
    failure: BaseException | None = None
    """What stopped it."""
    over: bool = False
    """Nobody waits for it any more."""


class Writers:
    """Used by the shard's thread; the numbers by any.

    An adapter that takes one write at a time is called on the shard's own thread: while a write hangs, the shard does.
    One that takes more is called in threads of their own, and a write that hangs past the deadline is left behind: the
    shard goes on with its other targets, and nothing is written to that one before it has ended.
    """

    def __init__(self, most: int, clock: Clock) -> None:
        """`most`: how many writes at a time, of all daemons."""
        self._alone = most == 1
        self._allowed = most
        self._clock = clock
        self._changed = threading.Condition()
        self._hanging: dict[TargetRef, float] = {}
        """Target -> the deadline of the write that is under way."""

    def writing(self) -> bool:
        """Whether a write is under way in a thread of its own."""
        return bool(self._hanging)

    def targets(self) -> frozenset[TargetRef]:
        """Those of the writes that are under way in threads of their own."""
        with self._changed:
            return frozenset(self._hanging)

    def overdue_seconds(self) -> float:
        """For how long the write that hangs longest is past its deadline; 0: none is."""
        with self._changed:
            deadline = min(self._hanging.values(), default=None)
        return 0.0 if deadline is None else max(0.0, self._clock.monotonic() - deadline)

    def run(self, jobs: Sequence[Job], call: Call, busy: frozenset[TargetRef] = frozenset()) -> Mapping[str, Outcome]:
        """Autoscaler's name -> what its write came to, for each; begun in their order, over soon after the deadline.

        The call's daemons divide how many are written at a time; each has at least one. `busy`: targets to which
        nothing is written, although an earlier write to them may have ended by now. Raises what a job raised; then none
        is begun any more.
        """
        if self._alone:
            return {job.name: job.write() for job in jobs}
        most = max(1, self._allowed // call.members)
        with self._changed:
            busy |= self._hanging.keys()
            cycle = _Round(deque(job for job in jobs if job.target not in busy))
            cycle.outcomes.update({job.name: _still_under_way(job) for job in jobs if job.target in busy})
            wanted = min(len(cycle.waiting), most - len(self._hanging))
        for _ in range(wanted):
            self._spawn(cycle, call.deadline)
        with self._changed:
            left = max(0.0, call.deadline - self._clock.monotonic()) + _GRACE_SECONDS
            self._changed.wait_for(lambda: cycle.writers == 0, timeout=left)
            cycle.over = True
            if cycle.failure is not None:
                raise cycle.failure
            late = {job.name: _late(job) for job in cycle.begun}
            crowded = {job.name: _crowded_out(job, len(self._hanging)) for job in cycle.waiting}
            return late | crowded | cycle.outcomes

    def _spawn(self, cycle: _Round, deadline: float) -> None:
        with self._changed:
            cycle.writers += 1
        try:
            spawn("writer", partial(self._write, cycle, deadline))
        except NoThread:
            with self._changed:
                cycle.writers -= 1

    def _write(self, cycle: _Round, deadline: float) -> None:
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

    def _next(self, cycle: _Round, deadline: float) -> Job | None:
        with self._changed:
            if cycle.over or cycle.failure is not None or not cycle.waiting:
                cycle.writers -= 1
                self._changed.notify_all()
                return None
            job = cycle.waiting.popleft()
            cycle.begun.append(job)
            self._hanging[job.target] = deadline
            return job


def _crowded_out(job: Job, hanging: int) -> Outcome:
    return TargetDeferred(
        f"{job.target}: nothing was written, for no thread was free: {hanging} earlier writes hang; "
        "it goes first in the next cycle"
    )


def _late(job: Job) -> Outcome:
    return TargetUnavailable(
        f"{job.target}: the write had no answer by the cycle's deadline; whether it was carried out is unknown until "
        "the next cycle"
    )


def _still_under_way(job: Job) -> Outcome:
    return TargetDeferred(
        f"{job.target}: nothing was written, for an earlier write hangs past its deadline; it is tried again in the "
        "cycle after that one has ended"
    )
