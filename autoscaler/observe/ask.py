"""Asks all queries of a cycle, a few at a time for each Prometheus, and is back at the deadline."""

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from queue import Empty, SimpleQueue
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
    """What a cycle's queries came to."""

    results: Results
    """Of every question that one of them answers."""
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


_Line: TypeAlias = SimpleQueue[_Job | None]
"""What one Prometheus is still to be asked; None: there is no more."""


def ask(
    queries: Sequence[PlannedQuery], sources: Mapping[str, Prometheus], call: Call, clock: Clock, meter: QueryMeter
) -> Asked:
    """The answer to every question, or why there is none. Returns by the deadline whatever a server does.

    A merged query that is refused is searched for who is to blame; the others are answered in this cycle, if time and
    budget allow.
    """
    began = clock.monotonic()
    cycle = _Cycle(meter)
    arrived: SimpleQueue[_Sent] = SimpleQueue()
    lines: dict[str, _Line] = {query.prometheus: SimpleQueue() for query in queries}
    workers = dict.fromkeys(lines, 0)
    for query in queries:
        lines[query.prometheus].put(_Job(query))
        workers[query.prometheus] += 1
    for name, line in lines.items():
        workers[name] = min(workers[name], sources[name].concurrency)
        for _ in range(workers[name]):
            spawn(f"prometheus-{name}", partial(_work, sources[name], line, arrived, call, clock))
    waiting = {id(query): query for query in queries}
    try:
        while waiting or cycle.searching:
            sent = arrived.get(timeout=max(call.deadline - clock.monotonic(), 0))
            waiting.pop(id(sent.job.query), None)
            if (more := cycle.take(sent)) is not None:
                lines[more.query.prometheus].put(more)
    except Empty:
        cycle.end(waiting.values(), clock.monotonic() - began)
    finally:
        for name, line in lines.items():
            for _ in range(workers[name]):
                line.put(None)
    return cycle.asked()


def _work(source: Prometheus, line: _Line, arrived: SimpleQueue[_Sent], call: Call, clock: Clock) -> None:
    """Ask one after the other. What a library's error keeps of this frame is none of the cycle's answers."""
    while (job := line.get()) is not None:
        if clock.monotonic() >= call.deadline:
            return  # nobody waits any more, and what is left in the line is nobody's
        asked = clock.monotonic()
        arrived.put(_Sent(job, _answer(source, job.query, call), clock.monotonic() - asked))


def _answer(source: Prometheus, query: PlannedQuery, call: Call) -> QueryResult | MetricError:
    try:
        return source.query(query.expr, call.now, call.deadline)
    except MetricError as error:
        return again(error)
    except BaseException as error:  # noqa: BLE001 - it must not take the other autoscalers' cycle with it
        return MetricError(f"prometheus {query.prometheus!r} could not be asked: {bug(error)}")


class _Cycle:
    """What has come of a cycle's queries so far. One thread's."""

    def __init__(self, meter: QueryMeter) -> None:
        self._meter = meter
        self._results: dict[Question, QueryResult | MetricError] = {}
        self._searches: list[Bisection] = []
        self._failed: list[tuple[PlannedQuery, Outcome]] = []
        self.searching: dict[int, MetricError] = {}
        """Searches that go on, and what began each."""

    def take(self, sent: _Sent) -> _Job | None:
        """What came of one query; the next one of its search."""
        job, query = sent.job, sent.job.query
        outcome, error = self._settle(query, sent.answer)
        self._meter.queried(query.prometheus, sent.seconds, error)
        if job.search is None:
            return self._begun(query, outcome, error)
        return self._advanced(job.search, self._searches[job.search].after(outcome), error)

    def _settle(self, query: PlannedQuery, answer: QueryResult | MetricError) -> tuple[Outcome, MetricError | None]:
        """Give each question its part of an answer, or the error."""
        if not isinstance(answer, MetricError):
            try:
                self._results.update(split(query, answer).answers)
            except MetricError as odd:  # what one member's own query is answered with is not held against it
                answer = QueryError(f"prometheus {query.prometheus!r}: {odd}", Outcome.REFUSED)
            except Exception as error:  # noqa: BLE001 - likewise
                answer = QueryError(f"prometheus {query.prometheus!r}: {bug(error)}", Outcome.REFUSED)
            else:
                return Outcome.ANSWERED, None
        self._results.update(dict.fromkeys(query.questions, answer))
        return outcome_of(answer), answer

    def _begun(self, query: PlannedQuery, outcome: Outcome, error: MetricError | None) -> _Job | None:
        """Nothing, or the first query of a search."""
        if outcome is Outcome.REFUSED and len(query.members) > 1 and error is not None:
            self._searches.append(bisect(query))
            return self._advanced(len(self._searches) - 1, self._searches[-1], error)
        if outcome in (Outcome.REFUSED, Outcome.TOO_LARGE):
            self._failed.append((query, outcome))
        return None

    def _advanced(self, number: int, search: Bisection, error: MetricError | None) -> _Job | None:
        """The search's next query, or its end."""
        self._searches[number] = search
        if error is not None:
            self.searching[number] = error
        if search.next is not None:
            return _Job(search.next, number)
        error = self.searching.pop(number)
        for lost in search.lost:
            self._results.update(dict.fromkeys(lost.questions, _merged_with_a_culprit(error)))
        return None

    def end(self, waiting: Iterable[PlannedQuery], seconds: float) -> None:
        """The deadline has come. `waiting`: what no answer has come to, in so many seconds."""
        for query in waiting:
            late = MetricError(f"prometheus {query.prometheus!r} did not answer before the cycle's deadline")
            self._results.update(dict.fromkeys(query.questions, late))
            self._meter.queried(query.prometheus, seconds, late)
        for number in list(self.searching):
            self._advanced(number, self._searches[number].stopped(), None)

    def asked(self) -> Asked:
        """All of it."""
        return Asked(self._results, self._searches, self._failed)


def _merged_with_a_culprit(error: MetricError) -> MetricError:
    return MetricError(f"{error}; it was asked together with others, and who is to blame was not found in time")
