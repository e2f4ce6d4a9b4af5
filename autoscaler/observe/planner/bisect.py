"""Whose fault it is when a merged query is refused.

Prometheus refuses a query as a whole (HTTP 4xx: `bad_data`, `execution`) when one member's part fails: two series where
one is needed, say. The others should not pay for that, this cycle included. So the query is halved, and halved again
where a half is refused, until single members are refused, each with its own words.

A time-out, an HTTP 5xx or a limit on size says that the server has too much to do: no query follows it.

Invariant: each member of the refused query is in exactly one of `pending`, `answered`, `culprits` and `lost`.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import Enum, auto
from typing import Final

from autoscaler.observe.plan import Question
from autoscaler.observe.planner.planner import APART
from autoscaler.observe.planner.query import PlannedQuery

BUDGET: Final = 40
"""Queries that a refused one may be followed by in its cycle: finding two in 250 takes at most 32."""
REMEMBERED: Final = timedelta(minutes=10)
"""For how long members that were refused stay out of the merge."""

_REFUSALS: Final = frozenset({"bad_data", "execution", "422"})
"""errorType: prometheus.io/docs/prometheus/latest/querying/api; the last is VictoriaMetrics' word for `execution`."""
_SIZE: Final = re.compile(r"too (many|large|long)|exceed|limit|max", re.IGNORECASE)
"""In what servers say of their limits on samples, series, points and bytes."""


class Outcome(Enum):
    """What a query came to."""

    ANSWERED = auto()
    REFUSED = auto()
    """Something in it is wrong."""
    FAILED = auto()
    """The server did not answer, cannot, or has too much to do."""


def refused(status: int, error_type: str, error: str) -> Outcome:
    """What an error of the HTTP API is: REFUSED only when it surely speaks of the expression or the data."""
    if 400 <= status < 500 and error_type in _REFUSALS and not _SIZE.search(error):
        return Outcome.REFUSED
    return Outcome.FAILED


@dataclass(frozen=True, slots=True)
class Bisection:
    """How far the search has come in one refused query."""

    pending: tuple[PlannedQuery, ...]
    """What is still to be asked; the last one next."""
    budget: int
    """How many more queries may be asked."""
    answered: tuple[PlannedQuery, ...] = ()
    culprits: tuple[PlannedQuery, ...] = ()
    """Those of one member that were refused: the error they were refused with is the member's own."""
    lost: tuple[PlannedQuery, ...] = ()
    """Those that get no answer in this cycle, because the budget, the time or the server is used up."""

    @property
    def next(self) -> PlannedQuery | None:
        """What to ask now; None when the search is over."""
        return self.pending[-1] if self.pending else None

    def after(self, outcome: Outcome) -> "Bisection":
        """What `next` came to."""
        *rest, asked = self.pending
        state = replace(self, pending=tuple(rest), budget=self.budget - 1)
        match outcome:
            case Outcome.ANSWERED:
                state = replace(state, answered=(*self.answered, asked))
            case Outcome.FAILED:
                return replace(state, lost=(*self.lost, asked)).stopped()
            case Outcome.REFUSED if len(asked.members) == 1:
                state = replace(state, culprits=(*self.culprits, asked))
            case Outcome.REFUSED:
                state = replace(state, pending=(*rest, *_halves(asked)))
        return state.stopped() if state.budget <= 0 else state

    def stopped(self) -> "Bisection":
        """The deadline has come: what was not asked fails this cycle."""
        return replace(self, pending=(), lost=(*self.lost, *self.pending))


def bisect(query: PlannedQuery, budget: int = BUDGET) -> Bisection:
    """The search in a query that was refused. For one that has no halves it is over."""
    if len(query.members) == 1:
        return Bisection((), budget, culprits=(query,))
    search = Bisection(_halves(query), budget)
    return search.stopped() if budget <= 0 else search


def _halves(query: PlannedQuery) -> tuple[PlannedQuery, ...]:
    keys = sorted(query.members)
    middle = (len(keys) + 1) // 2
    return query.narrowed(keys[middle:]), query.narrowed(keys[:middle])


@dataclass(frozen=True, slots=True)
class Refusals:
    """Which questions stay out of the merge, and until when."""

    until: Mapping[Question, tuple[datetime, int]]
    """With the part that each is merged in meanwhile."""

    def parts(self, now: datetime) -> Mapping[Question, int]:
        """What `Planner.plan` takes."""
        return {question: part for question, (until, part) in self.until.items() if now < until}

    def found(self, search: Bisection, now: datetime) -> "Refusals":
        """With what a search has come to.

        Culprits are asked as written. What is not known yet is merged apart, so that the next search goes on in it
        and those that were answered no longer depend on it. Where nobody is to blame, the halves stay halves.
        """
        if not search.culprits and not search.lost:
            return self.kept_apart(search.answered, now)
        alone = dict.fromkeys(_questions(search.culprits), (now + REMEMBERED, APART))
        return Refusals({**self._current(now), **alone, **self._together(search.lost, now)})

    def kept_apart(self, queries: Iterable[PlannedQuery], now: datetime) -> "Refusals":
        """With the members of each of these merged with one another only."""
        state = self
        for query in queries:
            state = Refusals({**state._current(now), **state._together((query,), now)})
        return state

    def _current(self, now: datetime) -> Mapping[Question, tuple[datetime, int]]:
        return {question: each for question, each in self.until.items() if now < each[0]}

    def _together(self, queries: Iterable[PlannedQuery], now: datetime) -> Mapping[Question, tuple[datetime, int]]:
        """The members of these in a part of their own."""
        unused = 1 + max((part for _, part in self.until.values()), default=APART)
        return dict.fromkeys(_questions(queries), (now + REMEMBERED, unused))


def _questions(queries: Iterable[PlannedQuery]) -> list[Question]:
    return [question for query in queries for question in query.questions]
