"""What is remembered of merged queries that did not work."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from autoscaler.observe.plan import Question
from autoscaler.observe.planner.bisect import Bisection, halves
from autoscaler.observe.planner.planner import APART
from autoscaler.observe.planner.query import PlannedQuery

REMEMBERED: Final = timedelta(minutes=10)
"""For how long members that were refused stay out of the merge."""


@dataclass(frozen=True, slots=True)
class Refusals:
    """Which questions stay out of the merge, and until when. A value: each method returns the next one."""

    until: Mapping[Question, tuple[datetime, int]]
    """With the part that each is merged in meanwhile."""

    def parts(self, now: datetime) -> Mapping[Question, int]:
        """What `Planner.plan` takes."""
        return {question: part for question, (until, part) in self.until.items() if now < until}

    def found(self, search: Bisection, now: datetime) -> "Refusals":
        """With what a search has come to.

        Culprits are asked as written. So is all that is not known yet when the budget was used up: there are too many
        culprits to find. Where the time was, it is merged apart, so that the next search goes on in it and those that
        were answered no longer depend on it. Where nobody is to blame, the halves stay halves.
        """
        if not search.culprits and not search.lost:
            return self.kept_apart(search.answered, now)
        if search.budget <= 0:
            return self.alone(_questions((*search.culprits, *search.lost)), now)
        return self.alone(_questions(search.culprits), now).together(search.lost, now)

    def alone(self, questions: Iterable[Question], now: datetime) -> "Refusals":
        """With these asked as they are written: at first, or for longer, because that is refused as well."""
        return Refusals({**self._current(now), **dict.fromkeys(questions, (now + REMEMBERED, APART))})

    def too_large(self, query: PlannedQuery, now: datetime) -> "Refusals":
        """With a query in halves whose answer was over a limit: from the next cycle on, one query more.

        So a member that is too large for any query is alone in the end, and no longer costs the others theirs.
        """
        return self if len(query.members) == 1 else self.kept_apart(halves(query), now)

    def kept_apart(self, queries: Iterable[PlannedQuery], now: datetime) -> "Refusals":
        """With the members of each of these merged with one another only."""
        state = self
        for query in queries:
            state = state.together((query,), now)
        return state

    def together(self, queries: Iterable[PlannedQuery], now: datetime) -> "Refusals":
        """With the members of these in a part of their own."""
        unused = 1 + max((part for _, part in self.until.values()), default=APART)
        part = dict.fromkeys(_questions(queries), (now + REMEMBERED, unused))
        return Refusals({**self._current(now), **part})

    def _current(self, now: datetime) -> Mapping[Question, tuple[datetime, int]]:
        return {question: each for question, each in self.until.items() if now < each[0]}


def _questions(queries: Iterable[PlannedQuery]) -> list[Question]:
    return [question for query in queries for question in query.questions]
