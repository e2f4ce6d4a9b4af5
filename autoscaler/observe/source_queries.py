"""The queries to one source in one cycle: which is sent next, and what became of each.

Members of merged queries that failed are sent before the remaining planned queries, and heavy queries after all others,
one at a time. A source that does not answer at all is asked nothing more in the cycle, because the shard waits for it.
"""

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from msgspec.structs import replace

from autoscaler.errors import MetricError, bug
from autoscaler.observe.asked_alone import CHEAP_SHARE, AloneQuestions, Result
from autoscaler.observe.failure import QueryFailure
from autoscaler.observe.plan import Question
from autoscaler.observe.planner.outcome import Outcome
from autoscaler.observe.planner.query import PlannedQuery
from autoscaler.observe.planner.split import split
from autoscaler.observe.prometheus import Exchange
from autoscaler.observe.result import QueryResult
from autoscaler.observe.taking_apart import TakingApart


class Job(NamedTuple):
    """One query to send."""

    query: PlannedQuery
    seconds: float
    """Time limit of the query."""
    heavy: bool = False
    member: bool = False
    """Whether it is a member of a merged query that failed."""


class SourceQueries:
    """The queries to one source in one cycle. Used by one thread."""

    def __init__(
        self,
        queries: Sequence[PlannedQuery],
        known: AloneQuestions,
        seconds: float,
        most: float,
        *,
        concurrency: int = 2,
        unanswered: Sequence[Question] = (),
        turn: int = 0,
        patient: bool = True,
    ) -> None:
        """`queries` are in the order in which they are sent, except for heavy ones.

        `seconds` is the time limit of a query, and `most` that of a heavy one. `unanswered`, `turn`: as for
        `TakingApart`. `patient`: False if the source was silent in an earlier cycle.
        """
        self.results: Final[list[Result]] = []
        """What became of each question that was asked alone."""
        self.untried: Final[set[Question]] = set()
        """Questions of planned queries that had no time in this cycle."""
        self.alive = False
        """Whether the source has answered anything."""
        self._seconds, self._most = seconds, most
        self._concurrency, self._patient = concurrency, patient
        self._planned = deque([query for query in queries if not known.heavy(query)])
        self._heavy = deque([query for query in queries if known.heavy(query)])
        self._members: deque[PlannedQuery] = deque()
        """Members to ask alone."""
        self._apart_ids: set[int] = set()
        """The ids of all members of merged queries that failed. Their merged query had its time."""
        heavy = known.count_heavy(queries[0].prometheus) if queries else 0
        self._apart = TakingApart(heavy, unanswered, turn)
        self._open = {id(query): query for query in queries}
        """Planned queries and members without a result."""
        self._settled: dict[Question, QueryResult | QueryFailure] = {}
        self._pending = self._late = 0

    @property
    def responsive(self) -> bool:
        """Return whether the source has answered a query quickly, and not with an error."""
        return self._apart.responsive

    @property
    def late_first(self) -> bool:
        """Return whether the member that was asked first did not show that the source answers quickly."""
        return self._apart.asked_first and not self.responsive

    @property
    def silent(self) -> bool:
        """Return whether the source was late, and has answered nothing."""
        return not self.alive and self._late > 0

    @property
    def has_pending(self) -> bool:
        """Return whether a result is still expected."""
        return self._pending > 0

    def jobs(self) -> Iterator[Job]:
        """Yield the jobs that can be sent now."""
        self._members += self._apart.decide(last=not (self._pending or self._members or self._planned))
        self._give_up()
        given_up = self.silent and self._late > (self._concurrency if self._patient else 0)
        while self._pending < self._concurrency and not given_up:
            if self._members:
                job = Job(self._members.popleft(), CHEAP_SHARE * self._seconds, member=True)
            elif self._planned:
                hurry = self.silent or not (self.alive or self._patient)
                job = Job(self._planned.popleft(), (CHEAP_SHARE if hurry else 1) * self._seconds)
            elif self._heavy and not self._pending:
                job = Job(self._heavy.popleft(), self._most, heavy=True)
            else:
                return
            self._pending += 1
            yield job

    def take(self, job: Job, came: Exchange[QueryResult]) -> QueryFailure | None:
        """Record the result of one job and return its error."""
        share = came.seconds / self._seconds
        answer = _parts(job.query, came.answer)
        self._pending -= 1
        if not isinstance(answer, QueryFailure):
            self.alive = True
            self._apart.responsive |= share <= CHEAP_SHARE
            self._close(job, None, share)
            self._settled.update(answer)
            return None
        if answer.late and came.seconds < job.seconds / 2:  # the cycle ended before the query's time limit
            answer, share = replace(answer, outcome=Outcome.FAILED), 0.0
        self.alive |= answer.answered
        self._late += answer.late
        self._take_failure(job, answer, share)
        return answer

    def settled(self) -> Mapping[Question, QueryResult | QueryFailure]:
        """Return the answer or the error of each question that has one since the last call."""
        settled, self._settled = self._settled, {}
        return settled

    def end(self, why: str) -> Iterator[tuple[PlannedQuery, QueryFailure]]:
        """End all queries without a result, for this reason.

        Yields those that were planned or sent, each with its error.
        """
        self._apart.end()
        self._give_up()
        unsent = set(map(id, self._members))
        for query in list(self._open.values()):
            late = QueryFailure(f"prometheus {query.prometheus!r} {why}")
            self._close(Job(query, 0.0, member=id(query) in self._apart_ids), late, 0.0)
            if id(query) not in unsent:
                yield query, late

    def _take_failure(self, job: Job, error: QueryFailure, share: float) -> None:
        query, outcome = job.query, error.outcome
        refused = outcome is Outcome.REFUSED and share <= CHEAP_SHARE
        if len(query.members) == 1:
            if job.member and self._apart.take_back(query, refused=refused):
                return
            if job.member and error.late:
                alone = "alone it takes more than a quarter of a query's time, so it runs after all others"
                error = replace(error, message=f"{error}; {alone}")
            self._close(job, error, share)
        elif outcome.costly or outcome is Outcome.REFUSED:
            members = query.apart()
            del self._open[id(query)]
            self._open.update({id(each): each for each in members})
            self._apart_ids.update(map(id, members))
            self._apart.add(members, error, refused=refused)
        else:
            self._close(job, error, share)

    def _give_up(self) -> None:
        for member, error in self._apart.given_up:
            said = f"{error}; it is merged with other queries, and could not be asked alone in this cycle"
            del self._open[id(member)]
            self._settled.update(dict.fromkeys(member.questions, replace(error, message=said)))
        self._apart.given_up.clear()

    def _close(self, job: Job, error: QueryFailure | None, share: float) -> None:
        """Close a query with its error, or None if it was answered."""
        query, outcome = job.query, Outcome.ANSWERED if error is None else error.outcome
        del self._open[id(query)]
        if error is not None:
            self._settled.update(dict.fromkeys(query.questions, error))
        if outcome is Outcome.FAILED and share == 0 and not job.member:
            self.untried.update(query.questions)
        if len(query.members) == 1:
            self.results.append(Result(query, outcome, share, str(error or ""), job.member))


def _parts(query: PlannedQuery, answer: QueryResult | QueryFailure) -> Mapping[Question, QueryResult] | QueryFailure:
    """Split an answer by question.

    No expression can cause an answer that does not fit its query. It is the source's error.
    """
    if isinstance(answer, QueryFailure):
        return answer
    try:
        return split(query, answer)
    except MetricError as error:
        return QueryFailure(f"prometheus {query.prometheus!r}: {error}")
    except Exception as error:  # noqa: BLE001 - a bug in splitting must not fail the cycle
        return QueryFailure(f"prometheus {query.prometheus!r}: {bug(error)}", outcome=Outcome.REFUSED, answered=True)
