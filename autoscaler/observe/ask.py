"""Asks all queries of a cycle, a few at a time for each Prometheus, and is back at the deadline."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from queue import Empty, Full, Queue, SimpleQueue
from typing import NamedTuple, Protocol, TypeAlias

from autoscaler.clock import Clock
from autoscaler.errors import MetricError, bug
from autoscaler.model import Call
from autoscaler.observe.answers import Results
from autoscaler.observe.failure import QueryError, again, outcome_of
from autoscaler.observe.plan import Question
from autoscaler.observe.planner import Bisection, Outcome, PlannedQuery, bisect, split
from autoscaler.observe.prometheus import Prometheus
from autoscaler.observe.result import QueryResult
from autoscaler.observe.workers import spawn


class QueryMeter(Protocol):
    """Where what each query came to is counted. Called from one thread of each cycle."""

    def queried(self, prometheus: str, seconds: float, error: MetricError | None) -> None:
        """One query to this source took so long, and failed or not."""


class NoMeter:
    """Counts nothing."""

    def queried(self, prometheus: str, seconds: float, error: MetricError | None) -> None:
        """Nothing."""


class Asked(NamedTuple):
    """What is to be learned of a cycle's queries."""

    searches: Sequence[Bisection]
    """In merged queries that were refused, each at its end."""
    failed: Sequence[tuple[PlannedQuery, Outcome]]
    """Those that a later cycle may ask in another way: too large, or refused although they are not merged."""


class _Job(NamedTuple):
    """One query to send."""

    query: PlannedQuery
    search: int | None = None
    """Which search asks it; None: it is of the plan."""


class _Sent(NamedTuple):
    """One that was sent."""

    job: _Job
    answer: QueryResult | MetricError
    seconds: float


Settle: TypeAlias = Callable[[Results], object]
"""Told of each question's answer once, as soon as it is known."""
_Line: TypeAlias = SimpleQueue[_Job | None]
"""What one Prometheus is still to be asked; None: there is no more."""


def ask(
    queries: Sequence[PlannedQuery],
    sources: Mapping[str, Prometheus],
    call: Call,
    clock: Clock,
    meter: QueryMeter,
    settle: Settle,
) -> Asked:
    """Every question is settled, on this thread: its answer, or why there is none. Returns by the deadline.

    A merged query that is refused is searched for who is to blame; the others are answered in this cycle, if time and
    budget allow.
    """
    began = clock.monotonic()
    cycle = _Cycle(meter, settle)
    lines: dict[str, _Line] = {query.prometheus: SimpleQueue() for query in queries}
    for query in queries:
        lines[query.prometheus].put(_Job(query))
    wanted = [name for name, line in lines.items() for _ in range(min(line.qsize(), sources[name].concurrency))]
    arrived: Queue[_Sent] = Queue(len(wanted))  # no more, for one answer may be a large part of the memory
    workers: list[str] = []
    waiting = {id(query): query for query in queries}
    try:
        with suppress(RuntimeError):  # the process may have no more threads: those that there are do the work
            for name in wanted:
                spawn(f"prometheus-{name}", partial(_work, sources[name], lines[name], arrived, call, clock))
                workers.append(name)
        for query in queries:
            if query.prometheus not in workers:
                del waiting[id(query)]
                cycle.take(_Sent(_Job(query), _no_thread(query), 0.0))
        while waiting or cycle.searching:
            sent = arrived.get(timeout=max(call.deadline - clock.monotonic(), 0))
            waiting.pop(id(sent.job.query), None)
            if (more := cycle.take(sent)) is not None:
                lines[more.query.prometheus].put(more)
    except Empty:
        cycle.end(waiting.values(), clock.monotonic() - began)
    finally:
        for name in workers:
            lines[name].put(None)
    return cycle.asked()


def _work(source: Prometheus, line: _Line, arrived: "Queue[_Sent]", call: Call, clock: Clock) -> None:
    """Ask one after the other. What a library's error keeps of this frame is none of the cycle's answers."""
    with suppress(Full):  # at the deadline: nobody waits any more
        while (job := line.get()) is not None and clock.monotonic() < call.deadline:
            asked = clock.monotonic()
            sent = _Sent(job, _answer(source, job.query, call), clock.monotonic() - asked)
            arrived.put(sent, timeout=max(call.deadline - clock.monotonic(), 0))
            del sent  # it may be large, and the next one takes its time


def _no_thread(query: PlannedQuery) -> MetricError:
    return MetricError(
        f"prometheus {query.prometheus!r} was not asked: no thread could be started; raise the limit of tasks "
        "(TasksMax) of the daemon"
    )


def _answer(source: Prometheus, query: PlannedQuery, call: Call) -> QueryResult | MetricError:
    try:
        return source.query(query.expr, call.now, call.deadline)
    except MetricError as error:
        return again(error)
    except BaseException as error:  # noqa: BLE001 - it must not take the other autoscalers' cycle with it
        return MetricError(f"prometheus {query.prometheus!r} could not be asked: {bug(error)}")


class _Cycle:
    """What has come of a cycle's queries so far. One thread's."""

    def __init__(self, meter: QueryMeter, settle: Settle) -> None:
        self._meter = meter
        self._settle = settle
        self._searches: list[Bisection] = []
        self._failed: list[tuple[PlannedQuery, Outcome]] = []
        self.searching: dict[int, MetricError] = {}
        """Searches that go on, and what the last one that was refused was refused with."""

    def take(self, sent: _Sent) -> _Job | None:
        """What came of one query; the next one of its search."""
        job, query, answer = sent.job, sent.job.query, _parts(sent.job.query, sent.answer)
        error = answer if isinstance(answer, MetricError) else None
        outcome = Outcome.ANSWERED if error is None else outcome_of(error)
        self._meter.queried(query.prometheus, sent.seconds, error)
        if not isinstance(answer, MetricError):
            self._settle(answer)
        if job.search is not None:
            if error is not None and outcome is Outcome.REFUSED and len(query.members) == 1:
                self._fail(query, error)
            return self._advanced(job.search, self._searches[job.search].after(outcome), error)
        if error is None:
            return None
        if outcome is Outcome.REFUSED and len(query.members) > 1:
            self._searches.append(bisect(query))
            return self._advanced(len(self._searches) - 1, self._searches[-1], error)
        self._fail(query, error)
        if outcome in (Outcome.REFUSED, Outcome.TOO_LARGE):
            self._failed.append((query, outcome))
        return None

    def end(self, waiting: Iterable[PlannedQuery], seconds: float) -> None:
        """The deadline has come. `waiting`: what no answer has come to, in so many seconds."""
        for query in waiting:
            late = MetricError(f"prometheus {query.prometheus!r} did not answer before the cycle's deadline")
            self._meter.queried(query.prometheus, seconds, late)
            self._fail(query, late)
        for number in list(self.searching):
            self._advanced(number, self._searches[number].stopped(), None)

    def asked(self) -> Asked:
        """All of it."""
        return Asked(self._searches, self._failed)

    def _advanced(self, number: int, search: Bisection, error: MetricError | None) -> _Job | None:
        """The search's next query, or its end."""
        self._searches[number] = search
        if error is not None:
            self.searching[number] = error
        if search.next is not None:
            return _Job(search.next, number)
        error = self.searching.pop(number)
        for query in search.lost:
            self._fail(query, _merged_with_a_culprit(error))
        return None

    def _fail(self, query: PlannedQuery, error: MetricError) -> None:
        self._settle(dict.fromkeys(query.questions, error))


def _parts(query: PlannedQuery, answer: QueryResult | MetricError) -> Mapping[Question, QueryResult] | MetricError:
    """Each question's part of an answer. What cannot be split is one member's fault, until it is asked alone."""
    if isinstance(answer, MetricError):
        return answer
    try:
        return split(query, answer).answers
    except MetricError as error:
        odd = str(error)
    except Exception as error:  # noqa: BLE001 - as above
        odd = bug(error)
    return QueryError(f"prometheus {query.prometheus!r}: {odd}", Outcome.REFUSED)


def _merged_with_a_culprit(error: MetricError) -> MetricError:
    return MetricError(f"{error}; it was asked together with others, and who is to blame was not found in time")
