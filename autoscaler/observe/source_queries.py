"""Decides what one source is asked in a cycle, in which order, and records the results.

Queries that were answered last time run first, then the others. Heavy queries run last, one at a time, when no other
query is running. If a merged query fails, a search finds the members at fault (`planner/bisect.py`).

A search for a heavy member starts only after the source answered something quickly in this cycle. Otherwise one member,
the canary, is asked first, and a second one if the first is late, since the first may be the heavy one. Without their
answer the source is overloaded, and is asked nothing more. If the last cycle had no quick answer, the first canary runs
before everything else, because late queries may fill this cycle too.
"""

from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple, TypeAlias

from msgspec.structs import replace

from autoscaler.errors import MetricError, bug
from autoscaler.observe.answers import Results
from autoscaler.observe.failure import QueryFailure
from autoscaler.observe.plan import Question
from autoscaler.observe.planner import (
    BUDGET,
    HEAVY_SHARE,
    Bisection,
    Outcome,
    PlannedQuery,
    Searched,
    Sent,
    Why,
    bisect,
    halves,
    split,
)
from autoscaler.observe.queries import CANARIES, Queries
from autoscaler.observe.result import QueryResult

_PROBE_SHARE: Final = 1 / 10
"""Share of a query's time for each query of a search for a heavy member: eight in a row find one of 250."""
Settle: TypeAlias = Callable[[Results], object]
"""Called once with each question's answer, as soon as it is known."""


class Job(NamedTuple):
    """One query to send."""

    query: PlannedQuery
    seconds: float
    """Time limit of the query."""
    heavy: bool = False
    canary: bool = False
    search: int | None = None
    """The search that asks it; None for a planned query."""


class JobResult(NamedTuple):
    """The result of a job."""

    job: Job
    answer: QueryResult | QueryFailure
    seconds: float
    """Time that the source took."""


class _Failed(NamedTuple):
    """A query to be searched for the members at fault."""

    query: PlannedQuery
    error: QueryFailure | None
    """None if it failed in an earlier cycle and was not sent in this one."""


@dataclass(slots=True)
class _Search:
    state: Bisection
    error: QueryFailure | None
    """The error of the last query that failed."""
    costly: bool
    share: float = 0.0
    said: dict[Question, tuple[Outcome, str]] = field(default_factory=dict)


class SourceQueries:
    """The queries to one source in one cycle. Used by one thread."""

    def __init__(
        self,
        queries: Sequence[PlannedQuery],
        known: Queries,
        seconds: float,
        most: float,
        settle: Settle,
    ) -> None:
        """`queries` are in the order in which they are sent, except for heavy ones.

        `seconds` is the time limit of a query, and `most` that of a query that runs after all others.
        """
        self.sent: Final[list[Sent]] = []
        self.responsive = False
        """Whether the source has answered something quickly."""
        self._known, self._seconds, self._settle = known, seconds, settle
        self._ready: deque[Job] = deque()
        self._heavy: deque[Job] = deque()
        self._failed: deque[_Failed] = deque()
        self._open: dict[int, PlannedQuery] = {}
        """Planned queries without a result."""
        self._searches: list[_Search] = []
        self._searching: int | None = None
        """The running search for a heavy member."""
        self._budget = BUDGET
        """Shared by all searches for heavy members."""
        self._canaries = 0
        """Number of canaries sent."""
        self._canary_pending = False
        self._pending = 0
        for query in queries:
            why = known.why(query)
            self._open[id(query)] = query
            if why is Why.HEAVY:
                self._heavy.append(Job(query, most, heavy=True))
            elif why is Why.SUSPECT:
                self._failed.append(_Failed(query, None))
            else:
                self._ready.append(Job(query, seconds))
        if queries and known.doubts(queries[0].prometheus):
            self._ask_a_first_canary(queries)

    def _ask_a_first_canary(self, queries: Sequence[PlannedQuery]) -> None:
        """Queue a first canary. Its answer only shows how the source is doing."""
        canary = next((part for query in queries if (part := self._known.canary(query, 0)) is not None), None)
        if canary is not None:
            self._canaries = 1
            self._ready.appendleft(Job(canary, _PROBE_SHARE * self._seconds, canary=True))

    @property
    def has_pending(self) -> bool:
        """Return whether an answer is still expected."""
        return self._pending > 0

    def jobs(self) -> Iterator[Job]:
        """Yield the jobs that can be sent now."""
        self._search()
        while self._ready:
            self._pending += 1
            yield self._ready.popleft()
        if self._heavy and not self._pending:
            self._pending += 1
            yield self._heavy.popleft()

    def take(self, came: JobResult) -> QueryFailure | None:
        """Record the result of one job and return its error."""
        job, answer = came.job, _parts(came.job.query, came.answer)
        self._pending -= 1
        share, error = came.seconds / self._seconds, answer if isinstance(answer, QueryFailure) else None
        if error is not None and error.late and came.seconds < job.seconds / 2:
            error, share = replace(error, outcome=Outcome.FAILED), 0.0  # the cycle ended before the query's time limit
        if error is None and share <= HEAVY_SHARE:
            self.responsive = True
        if job.canary:
            if self._canary_pending:  # otherwise it is the first canary
                self._accept_canary(job.query, answer)
            return error
        if not isinstance(answer, QueryFailure):
            self._settle(answer)
        if job.search is not None:
            self._record_search_result(job.search, error, share)
        else:
            self._finish_planned(job, error, share)
        return error

    def end(self, why: str) -> Iterator[tuple[PlannedQuery, QueryFailure]]:
        """End all queries without an answer, for this reason.

        Yields the unanswered planned queries, each with its error.
        """
        for failed in self._failed:
            if failed.error is not None:
                self._give_up(failed)
        for search in self._searches:
            if search.state.next is not None:
                search.state = search.state.stopped()
                self._close_search(search)
        for query in list(self._open.values()):
            late = QueryFailure(f"prometheus {query.prometheus!r} {why}")
            self._close_planned(query, late, 0.0)
            yield query, late

    def searched(self) -> Iterator[Searched]:
        """Yield the results of the searches."""
        for each in self._searches:
            yield Searched(each.state, each.costly, each.share, each.said)

    def _finish_planned(self, job: Job, error: QueryFailure | None, share: float) -> None:
        """Record the result of a planned query."""
        query, outcome = job.query, _outcome(error)
        if outcome is Outcome.REFUSED and len(query.members) > 1:
            del self._open[id(query)]
            self._begin_search(_Search(bisect(query), error, costly=False))
        elif outcome is Outcome.TOO_LONG and len(query.members) > 1:
            self._send_halves(job)
        elif outcome.costly and not job.heavy and self._known.canary(query, 0) is not None:
            self._failed.append(_Failed(query, error))
        else:
            self._close_planned(query, error, share)

    def _send_halves(self, job: Job) -> None:
        """Ask a query in halves, until each is short enough. The next cycle's queries are planned for that length."""
        del self._open[id(job.query)]
        for half in halves(job.query):
            self._open[id(half)] = half
            self._ready.append(job._replace(query=half))

    def _close_planned(self, query: PlannedQuery, error: QueryFailure | None, share: float) -> None:
        """Close a planned query."""
        del self._open[id(query)]
        self.sent.append(Sent(query, _outcome(error), share, str(error or "")))
        if error is not None:
            self._fail(query, error)

    def _search(self) -> None:
        """Continue with the queries that failed because of their cost, one search at a time."""
        while self._failed and self._searching is None and not self._canary_pending:
            failed = self._failed[0]
            canary = None if self.responsive else self._known.canary(failed.query, self._canaries)
            if canary is not None and self._canaries < CANARIES:
                self._canaries, self._canary_pending = self._canaries + 1, True
                self._ready.append(Job(canary, _PROBE_SHARE * self._seconds, canary=True))
                return
            self._failed.popleft()
            if not self.responsive or not self._budget or len(failed.query.members) == 1:
                self._give_up(failed)
                continue
            del self._open[id(failed.query)]
            known, budget = failed.error is None, self._budget
            state = Bisection((failed.query,), budget) if known else bisect(failed.query, budget)
            self._searching = len(self._searches)
            self._begin_search(_Search(state, failed.error, costly=True))

    def _give_up(self, failed: _Failed) -> None:
        """Skip the search for a query in this cycle. The next cycle runs it if the source is responsive."""
        query, error = failed
        if error is None:
            self._ready.append(Job(query, self._seconds))
        elif self.responsive and len(query.members) > 1:
            del self._open[id(query)]
            self._begin_search(_Search(Bisection((), self._budget, lost=(query,)), error, costly=True))
        else:
            self._close_planned(query, error, 1.0)

    def _accept_canary(self, canary: PlannedQuery, answer: Mapping[Question, QueryResult] | QueryFailure) -> None:
        """Use the canary's answer for its members, and continue the merged query without them."""
        self._canary_pending = False
        query, error = self._failed[0]
        if isinstance(answer, QueryFailure) or len(query.members) == 1:
            return
        self._settle(answer)
        rest = query.narrowed([key for key in query.members if key not in canary.members])
        del self._open[id(query)]
        self._open[id(rest)] = rest
        self._failed[0] = _Failed(rest, error)

    def _begin_search(self, search: _Search) -> None:
        self._searches.append(search)
        self._continue_search(len(self._searches) - 1)

    def _record_search_result(self, number: int, error: QueryFailure | None, share: float) -> None:
        """Record the result of a search's query."""
        search = self._searches[number]
        query = search.state.next
        search.state = search.state.after(_outcome(error))
        if error is None:
            search.share += share
        else:
            search.error = error
            search.costly |= error.outcome.costly
            if query in search.state.culprits:
                self._blame(search, query, error)
        self._continue_search(number)

    def _continue_search(self, number: int) -> None:
        """Send a search's next query, or end the search."""
        search = self._searches[number]
        if (query := search.state.next) is not None:
            share = _PROBE_SHARE if search.costly else 1.0
            self._ready.append(Job(query, share * self._seconds, search=number))
            return
        if number == self._searching:
            self._searching = None
            self._budget = search.state.budget
        self._close_search(search)

    def _close_search(self, search: _Search) -> None:
        """Close a search. Its unanswered members have no answer in this cycle."""
        error = search.error or QueryFailure("the query was not sent: the cycle's time is over")
        for query in search.state.lost:
            merged = "it was merged with other queries, and the failing one was not found in time"
            self._fail(query, replace(error, message=f"{error}; {merged}"))

    def _blame(self, search: _Search, query: PlannedQuery, error: QueryFailure) -> None:
        if error.late:
            alone = "it delays queries merged with it, so it runs alone from the next cycle on"
            error = replace(error, message=f"{error}; {alone}")
        search.said.update(dict.fromkeys(query.questions, (error.outcome, error.message)))
        self._fail(query, error)

    def _fail(self, query: PlannedQuery, error: QueryFailure) -> None:
        self._settle(dict.fromkeys(query.questions, error))


def _outcome(error: QueryFailure | None) -> Outcome:
    return Outcome.ANSWERED if error is None else error.outcome


def _parts(query: PlannedQuery, answer: QueryResult | QueryFailure) -> Mapping[Question, QueryResult] | QueryFailure:
    """Split an answer by question.

    No expression can cause an answer that does not fit its query. It is the source's error, and begins no search.
    """
    if isinstance(answer, QueryFailure):
        return answer
    try:
        return split(query, answer).answers
    except MetricError as error:
        return QueryFailure(f"prometheus {query.prometheus!r}: {error}")
    except Exception as error:  # noqa: BLE001 - a bug in splitting must not fail the cycle
        return QueryFailure(f"prometheus {query.prometheus!r}: {bug(error)}", outcome=Outcome.REFUSED, answered=True)
