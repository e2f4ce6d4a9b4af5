"""Runs all queries of a cycle, a few at a time for each Prometheus, until the deadline."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from queue import Empty, Full, Queue, SimpleQueue
from typing import Final, TypeAlias

from autoscaler.clock import Clock
from autoscaler.errors import bug
from autoscaler.model import Call
from autoscaler.observe.answers import Results
from autoscaler.observe.failure import QueryFailure
from autoscaler.observe.planner.query import PlannedQuery
from autoscaler.observe.prometheus import Exchange, Prometheus
from autoscaler.observe.queries import Queries
from autoscaler.observe.result import QueryResult
from autoscaler.observe.source_queries import Job, SourceQueries
from autoscaler.threads import NoThread, spawn

_SHARE: Final = 3 / 4
"""Share of the available time that a query may take, so that the members of a merged one can follow.

Queries that run last have no such limit.
"""
_LEAST: Final = 0.001
_LATE: Final = "did not answer before the cycle's deadline"
_NO_THREAD: Final = "was not asked: no thread could be started; raise the limit of tasks (TasksMax) of the daemon"
_SILENT: Final = "was not asked: it has answered nothing in this cycle"

Settle: TypeAlias = Callable[[Results], object]
"""Called once with each question's answer or error, as soon as it is known."""
Queried: TypeAlias = Callable[[str, float, QueryFailure | None], object]
"""Called on the thread of the cycle for each query: its source, the seconds that it took, and its failure."""
_Line: TypeAlias = SimpleQueue[Job | None]
"""Jobs waiting for one Prometheus. None ends the queue."""
_Arrived: TypeAlias = Queue[tuple[Job, Exchange[QueryResult], float]]
"""Jobs with their results, and the seconds that each took with the wait for its turn."""


def run_queries(
    queries: Sequence[PlannedQuery],
    sources: Mapping[str, Prometheus],
    call: Call,
    clock: Clock,
    queried: Queried,
    settle: Settle,
    known: Queries | None = None,
) -> Mapping[str, SourceQueries]:
    """Run the queries, settle every question on this thread with its answer or error, and return by the deadline.

    If a merged query fails because of some members, the others are still answered in this cycle, if time allows.
    Returns what became of the queries to each source.
    """
    began, known = clock.monotonic(), known or Queries()
    left, groups = max(call.deadline - began, _LEAST), dict[str, list[PlannedQuery]]()
    for query in queries:
        groups.setdefault(query.prometheus, []).append(query)
    asking, lines = dict[str, SourceQueries](), dict[str, _Line]()
    wanted: list[str] = []
    for name, group in groups.items():
        source = sources[name]
        most = min(source.timeout_seconds, left)
        asking[name] = SourceQueries(
            group,
            known.alone,
            min(most, _SHARE * left),
            most,
            concurrency=source.concurrency,
            unanswered=tuple(known.unanswered),
            turn=known.turns[name],
            patient=known.patient(name, began),
        )
        lines[name] = SimpleQueue()
        wanted += [name] * min(sum(len(query.members) for query in group), source.concurrency)
    most_arrived = len(wanted)  # bounded, because one answer may use much of the memory
    arrived: _Arrived = Queue(most_arrived)
    workers: list[str] = []
    ending = _SILENT
    try:
        with suppress(NoThread):  # the threads that did start do the work
            for name in wanted:
                spawn(f"prometheus-{name}", partial(_work, sources[name], lines[name], arrived, call, clock))
                workers.append(name)
        for name, each in asking.items():
            if name in workers:
                _send(each, lines[name])
            else:
                _end(each, queried, settle, 0.0, _NO_THREAD)
        while any(each.has_pending for each in asking.values()):
            job, came, seconds = arrived.get(timeout=max(call.deadline - clock.monotonic(), 0))
            name = job.query.prometheus
            queried(name, seconds, asking[name].take(job, came))
            del came  # frees a possibly large answer before waiting for the next
            _send(asking[name], lines[name])
            settle(asking[name].settled())
    except Empty:
        ending = _LATE
    finally:
        for name in workers:
            lines[name].put(None)
    for each in asking.values():
        _end(each, queried, settle, clock.monotonic() - began, ending)
    return asking


def _send(asking: SourceQueries, line: _Line) -> None:
    for job in asking.jobs():
        line.put(job)


def _end(asking: SourceQueries, queried: Queried, settle: Settle, seconds: float, why: str) -> None:
    for query, error in asking.end(why):
        queried(query.prometheus, seconds, error)
    settle(asking.settled())


def _work(source: Prometheus, line: _Line, arrived: _Arrived, call: Call, clock: Clock) -> None:
    """Run jobs one after another."""
    with suppress(Full):  # at the deadline the cycle stops waiting
        while (job := line.get()) is not None and clock.monotonic() < call.deadline:
            began = clock.monotonic()
            came = job, _exchange(source, job, call), clock.monotonic() - began
            arrived.put(came, timeout=max(call.deadline - clock.monotonic(), 0))
            del came  # frees a possibly large answer before waiting for the next


def _exchange(source: Prometheus, job: Job, call: Call) -> Exchange[QueryResult]:
    try:
        return source.exchange(job.query.expr, call.now, call.deadline, job.seconds, heavy=job.heavy)
    except BaseException as error:  # noqa: BLE001 - a bug must not fail the other autoscalers' cycle
        return Exchange(QueryFailure(f"prometheus {job.query.prometheus!r} could not be asked: {bug(error)}"), 0.0)
