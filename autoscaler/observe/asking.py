"""What one source is asked in a cycle, in which order, and what came of it.

First go the queries that were answered last time, then the others, last the heavy ones: one at a time, when nothing
else is under way. A merged query that fails is searched for the members at fault (`planner/bisect.py`). A search for a
heavy member begins when the source has answered something quickly in this cycle. Where it has not, one member is asked
first, the canary, and where that is late a second one, for the first may be the heavy one. Without their answer nothing
more is asked: the source has too much to do, and a search would add to it. Where the last cycle had no quick answer,
the first canary goes before all else: late queries may fill this cycle, too.
"""

from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple, Protocol, TypeAlias

from autoscaler.errors import MetricError, bug
from autoscaler.observe.answers import Results
from autoscaler.observe.failure import NoAnswer, QueryError, outcome_of
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
    split,
)
from autoscaler.observe.result import QueryResult

_PROBE_SHARE: Final = 1 / 10
"""Of a query's time, what each query of a search for a heavy member may take: eight in a row find one of 250."""
_CANARIES: Final = 2

Settle: TypeAlias = Callable[[Results], object]
"""Told of each question's answer once, as soon as it is known."""


class Known(Protocol):
    """What earlier cycles have taught of queries."""

    def why(self, query: PlannedQuery) -> Why | None:
        """Why its members are asked apart; None: they are not."""

    def canary(self, query: PlannedQuery, number: int) -> PlannedQuery | None:
        """A small part of the query, another one for each number and in each cycle; None: it has no parts."""

    def doubts(self, prometheus: str) -> bool:
        """Whether a source failed in the last cycle and answered nothing quickly."""


class Job(NamedTuple):
    """One query to send."""

    query: PlannedQuery
    seconds: float
    """How long the source may have it."""
    heavy: bool = False
    canary: bool = False
    search: int | None = None
    """Which search asks it; None: it is of the plan."""


class Came(NamedTuple):
    """What came of a job."""

    job: Job
    answer: QueryResult | MetricError
    seconds: float
    """How long the source had it."""


class _Failed(NamedTuple):
    """A query whose members are to be told apart."""

    query: PlannedQuery
    error: MetricError | None
    """None: it failed in an earlier cycle, and has not been asked in this one."""


@dataclass(slots=True)
class _Search:
    state: Bisection
    error: MetricError | None
    """Of the last query that failed."""
    costly: bool
    share: float = 0.0
    said: dict[Question, tuple[Outcome, str]] = field(default_factory=dict)


class Asking:
    """One source, one cycle, one thread."""

    def __init__(
        self,
        queries: Sequence[PlannedQuery],
        known: Known,
        seconds: float,
        most: float,
        settle: Settle,
    ) -> None:
        """`queries`: in the order in which they are to be sent, as far as they are not heavy.

        `seconds`: that a query may take. `most`: the same for one that is asked after all others.
        """
        self.sent: Final[list[Sent]] = []
        self.sound = False
        """Whether the source has answered something quickly."""
        self._known, self._seconds, self._settle = known, seconds, settle
        self._ready: deque[Job] = deque()
        self._heavy: deque[Job] = deque()
        self._failed: deque[_Failed] = deque()
        self._open: dict[int, PlannedQuery] = {}
        """Queries of the plan that have not come to anything yet."""
        self._searches: list[_Search] = []
        self._searching: int | None = None
        """The search for a heavy member that goes on."""
        self._budget = BUDGET
        """Of all searches for heavy members."""
        self._canaries = 0
        """How many were asked."""
        self._canary_is_out = False
        self._out = 0
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
        """Its answer says only how the source does."""
        canary = next((part for query in queries if (part := self._known.canary(query, 0)) is not None), None)
        if canary is not None:
            self._canaries = 1
            self._ready.appendleft(Job(canary, _PROBE_SHARE * self._seconds, canary=True))

    @property
    def goes_on(self) -> bool:
        """Whether an answer is still to come."""
        return self._out > 0

    def jobs(self) -> Iterator[Job]:
        """What may be sent now."""
        self._search()
        while self._ready:
            self._out += 1
            yield self._ready.popleft()
        if self._heavy and not self._out:
            self._out += 1
            yield self._heavy.popleft()

    def take(self, came: Came) -> MetricError | None:
        """What came of one job. Returns the error."""
        job, answer = came.job, _parts(came.job.query, came.answer)
        self._out -= 1
        share, error = came.seconds / self._seconds, answer if isinstance(answer, MetricError) else None
        outcome = Outcome.ANSWERED if error is None else outcome_of(error)
        if isinstance(error, NoAnswer) and came.seconds < job.seconds / 2:
            outcome, share = Outcome.FAILED, 0.0  # the cycle had no more time for it
        if error is None and share <= HEAVY_SHARE:
            self.sound = True
        if job.canary:
            if self._canary_is_out:  # else it is the first one
                self._took_canary(job.query, answer)
            return error
        if not isinstance(answer, MetricError):
            self._settle(answer)
        if job.search is not None:
            self._advance(job.search, outcome, error, share)
        else:
            self._took(job, outcome, error, share)
        return error

    def end(self, why: str) -> Iterator[tuple[PlannedQuery, MetricError]]:
        """No answer follows, for this reason. Yields the queries of the plan that had none, each with its error."""
        for failed in self._failed:
            if failed.error is not None:
                self._give_up(failed)
        for search in self._searches:
            if search.state.next is not None:
                search.state = search.state.stopped()
                self._close(search)
        for query in list(self._open.values()):
            late = MetricError(f"prometheus {query.prometheus!r} {why}")
            self._over(query, Outcome.FAILED, late, 0.0)
            yield query, late

    def searched(self) -> Iterator[Searched]:
        """What searches have come to."""
        for each in self._searches:
            yield Searched(each.state, each.costly, each.share, each.said)

    def _took(self, job: Job, outcome: Outcome, error: MetricError | None, share: float) -> None:
        """A query of the plan."""
        query = job.query
        if outcome is Outcome.REFUSED and len(query.members) > 1:
            del self._open[id(query)]
            self._begin(_Search(bisect(query), error, costly=False))
        elif outcome.costly and not job.heavy and self._known.canary(query, 0) is not None:
            self._failed.append(_Failed(query, error))
        else:
            self._over(query, outcome, error, share)

    def _over(self, query: PlannedQuery, outcome: Outcome, error: MetricError | None, share: float) -> None:
        """A query of the plan has come to an end."""
        del self._open[id(query)]
        self.sent.append(Sent(query, outcome, share, str(error or "")))
        if error is not None:
            self._fail(query, error)

    def _search(self) -> None:
        """Go on with those that failed for what they cost: one search at a time."""
        while self._failed and self._searching is None and not self._canary_is_out:
            failed = self._failed[0]
            canary = None if self.sound else self._known.canary(failed.query, self._canaries)
            if canary is not None and self._canaries < _CANARIES:
                self._canaries, self._canary_is_out = self._canaries + 1, True
                self._ready.append(Job(canary, _PROBE_SHARE * self._seconds, canary=True))
                return
            self._failed.popleft()
            if not self.sound or self._budget < 2 or len(failed.query.members) == 1:
                self._give_up(failed)
                continue
            del self._open[id(failed.query)]
            known, budget = failed.error is None, self._budget
            state = Bisection((failed.query,), budget) if known else bisect(failed.query, budget)
            self._searching = len(self._searches)
            self._begin(_Search(state, failed.error, costly=True))

    def _give_up(self, failed: _Failed) -> None:
        """A query is not searched in this cycle. It is in the next one, where it is known that the source is well."""
        query, error = failed
        if error is None:
            self._ready.append(Job(query, self._seconds))
        elif self.sound and len(query.members) > 1:
            del self._open[id(query)]
            self._begin(_Search(Bisection((), self._budget, lost=(query,)), error, costly=True))
        else:
            self._over(query, outcome_of(error), error, 1.0)

    def _took_canary(self, canary: PlannedQuery, answer: Mapping[Question, QueryResult] | MetricError) -> None:
        """Its answer counts for its members; what they were merged into goes on without them."""
        self._canary_is_out = False
        query, error = self._failed[0]
        if isinstance(answer, MetricError) or len(query.members) == 1:
            return
        self._settle(answer)
        rest = query.narrowed([key for key in query.members if key not in canary.members])
        del self._open[id(query)]
        self._open[id(rest)] = rest
        self._failed[0] = _Failed(rest, error)

    def _begin(self, search: _Search) -> None:
        self._searches.append(search)
        self._go_on(len(self._searches) - 1)

    def _advance(self, number: int, outcome: Outcome, error: MetricError | None, share: float) -> None:
        """What came of a search's query."""
        search = self._searches[number]
        query = search.state.next
        search.state = search.state.after(outcome)
        if error is None:
            search.share += share
        else:
            search.error = error
            search.costly |= outcome.costly
            if query in search.state.culprits:
                self._blame(search, query, outcome, error)
        self._go_on(number)

    def _go_on(self, number: int) -> None:
        """Ask a search's next query, or end it."""
        search = self._searches[number]
        if (query := search.state.next) is not None:
            share = _PROBE_SHARE if search.costly else 1.0
            self._ready.append(Job(query, share * self._seconds, search=number))
            return
        if number == self._searching:
            self._searching = None
            self._budget = search.state.budget
        self._close(search)

    def _close(self, search: _Search) -> None:
        """Those that a search has not asked have no answer in this cycle."""
        error = search.error or MetricError("it was not asked: the cycle's time is over")
        for query in search.state.culprits:
            if next(query.questions) not in search.said:
                self._blame(search, query, outcome_of(error), error)
        for query in search.state.lost:
            self._fail(query, _merged_with_a_culprit(error))

    def _blame(self, search: _Search, query: PlannedQuery, outcome: Outcome, error: MetricError) -> None:
        if isinstance(error, NoAnswer):
            error = MetricError(f"{error}; merged, it makes others late, so it is asked alone from the next cycle on")
        search.said.update(dict.fromkeys(query.questions, (outcome, str(error))))
        self._fail(query, error)

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
