"""Asks all queries of a cycle, a few at a time for each Prometheus, and is back at the deadline."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import partial
from queue import Empty, Full, Queue, SimpleQueue
from typing import Final, Protocol, TypeAlias

from autoscaler.clock import Clock
from autoscaler.errors import MetricError, bug
from autoscaler.model import Call
from autoscaler.observe.asking import Asking, Came, Job, Known, Settle
from autoscaler.observe.planner import Asked, PlannedQuery
from autoscaler.observe.prometheus import Prometheus
from autoscaler.threads import NoThread, spawn

_SHARE: Final = 3 / 4
"""Of the time that there is, what a query may take unless it is asked after all others: so that a search can follow."""
_LEAST: Final = 0.001
_LATE: Final = "did not answer before the cycle's deadline"
_NO_THREAD: Final = "was not asked: no thread could be started; raise the limit of tasks (TasksMax) of the daemon"


class QueryMeter(Protocol):
    """Where what each query came to is counted. Called from one thread of each cycle."""

    def queried(self, prometheus: str, seconds: float, error: MetricError | None) -> None:
        """One query to this source took so long, and failed or not."""


class NoMeter:
    """Counts nothing."""

    def queried(self, prometheus: str, seconds: float, error: MetricError | None) -> None:
        """Nothing."""


class NothingKnown:
    """No query is asked apart."""

    def why(self, query: PlannedQuery) -> None:
        """None."""

    def doubts(self, prometheus: str) -> bool:  # noqa: ARG002 - the protocol's signature
        """No."""
        return False

    def canary(self, query: PlannedQuery, number: int) -> PlannedQuery | None:
        """One member."""
        return query.narrowed([sorted(query.members)[number]]) if len(query.members) > 1 else None


_Line: TypeAlias = SimpleQueue[Job | None]
"""What one Prometheus is still to be asked; None: there is no more."""


def ask(
    queries: Sequence[PlannedQuery],
    sources: Mapping[str, Prometheus],
    call: Call,
    clock: Clock,
    meter: QueryMeter,
    settle: Settle,
    known: Known | None = None,
) -> Asked:
    """Every question is settled, on this thread: its answer, or why there is none. Returns by the deadline.

    Where a merged query fails for some of its members, the others are answered in this cycle, if time and budget
    allow.
    """
    began = clock.monotonic()
    left, groups = max(call.deadline - began, _LEAST), dict[str, list[PlannedQuery]]()
    for query in queries:
        groups.setdefault(query.prometheus, []).append(query)
    asking, lines = dict[str, Asking](), dict[str, _Line]()
    for name, group in groups.items():
        most = min(sources[name].timeout_seconds, left)
        asking[name] = Asking(group, known or NothingKnown(), min(most, _SHARE * left), most, settle)
        lines[name] = SimpleQueue()
    wanted = [name for name, group in groups.items() for _ in range(min(len(group), sources[name].concurrency))]
    arrived: Queue[tuple[Came, float]] = Queue(len(wanted))  # no more, for one answer may be a large part of the memory
    workers: list[str] = []
    try:
        with suppress(NoThread):  # those that there are do the work
            for name in wanted:
                spawn(f"prometheus-{name}", partial(_work, sources[name], lines[name], arrived, call, clock))
                workers.append(name)
        for name, each in asking.items():
            if name in workers:
                _send(each, lines[name])
            else:
                _end(each, meter, 0.0, _NO_THREAD)
        while any(each.goes_on for each in asking.values()):
            came, seconds = arrived.get(timeout=max(call.deadline - clock.monotonic(), 0))
            name = came.job.query.prometheus
            meter.queried(name, seconds, asking[name].take(came))
            del came  # it may be large, and the next one takes its time
            _send(asking[name], lines[name])
    except Empty:
        for each in asking.values():
            _end(each, meter, clock.monotonic() - began, _LATE)
    finally:
        for name in workers:
            lines[name].put(None)
    return Asked(
        [sent for each in asking.values() for sent in each.sent],
        [searched for each in asking.values() for searched in each.searched()],
        frozenset(name for name, each in asking.items() if each.sound),
    )


def _send(asking: Asking, line: _Line) -> None:
    for job in asking.jobs():
        line.put(job)


def _end(asking: Asking, meter: QueryMeter, seconds: float, why: str) -> None:
    for query, error in asking.end(why):
        meter.queried(query.prometheus, seconds, error)


def _work(source: Prometheus, line: _Line, arrived: "Queue[tuple[Came, float]]", call: Call, clock: Clock) -> None:
    """Ask one after the other. What a library's error keeps of this frame is none of the cycle's answers."""
    with suppress(Full):  # at the deadline: the cycle waits no more
        while (job := line.get()) is not None and clock.monotonic() < call.deadline:
            began = clock.monotonic()
            came = _came(source, job, call), clock.monotonic() - began
            arrived.put(came, timeout=max(call.deadline - clock.monotonic(), 0))
            del came  # it may be large, and the next one takes its time


def _came(source: Prometheus, job: Job, call: Call) -> Came:
    try:
        done = source.exchange(job.query.expr, call.now, call.deadline, job.seconds, heavy=job.heavy)
    except BaseException as error:  # noqa: BLE001 - it must not take the other autoscalers' cycle with it
        return Came(job, MetricError(f"prometheus {job.query.prometheus!r} could not be asked: {bug(error)}"), 0.0)
    return Came(job, done.answer, done.seconds)
