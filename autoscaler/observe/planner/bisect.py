"""Whose fault it is when a merged query is refused.

Prometheus refuses a query as a whole (HTTP 4xx: `bad_data`, `execution`) when one member's part fails: two series where
one is needed, say. The others should not pay for that, this cycle included. So the query is halved, and halved again
where a half is refused, until single members are refused, each with its own words.

A time-out, an HTTP 5xx or a limit on size says that the server has too much to do: no query follows it in its cycle.

Invariant: each member of the refused query is in exactly one of `pending`, `answered`, `culprits` and `lost`.
"""

import re
from dataclasses import dataclass, replace
from enum import Enum, auto
from typing import Final

from autoscaler.observe.planner.query import PlannedQuery

BUDGET: Final = 40
"""Queries that a refused one may be followed by in its cycle: finding two in 250 takes at most 32."""

_REFUSALS: Final = frozenset({"bad_data", "execution", "422"})
"""errorType: prometheus.io/docs/prometheus/latest/querying/api; the last is VictoriaMetrics' word for `execution`."""
_SIZE: Final = re.compile(r"\b(too (many|large|long)|exceed|limit|maximum|max[A-Z-])")
"""In what servers say of their limits on samples, series, points and bytes."""
_QUOTED: Final = re.compile(r'"(?:[^"\\]|\\.)*"', re.DOTALL)
"""Label values and parts of the query, in which any word may stand."""


class Outcome(Enum):
    """What a query came to."""

    ANSWERED = auto()
    REFUSED = auto()
    """Something in it is wrong."""
    TOO_LARGE = auto()
    """It, or its answer, is over a limit on size: another cycle may ask for less."""
    FAILED = auto()
    """The server did not answer, cannot, or has too much to do."""


def refused(status: int, error_type: str, error: str) -> Outcome:
    """What an error of the HTTP API is: REFUSED only when it surely speaks of the expression or the data."""
    if not 400 <= status < 500 or error_type not in _REFUSALS:
        return Outcome.FAILED
    return Outcome.TOO_LARGE if _SIZE.search(_QUOTED.sub("", error)) else Outcome.REFUSED


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
            case Outcome.FAILED | Outcome.TOO_LARGE:
                return replace(state, lost=(*self.lost, asked)).stopped()
            case Outcome.REFUSED if len(asked.members) == 1:
                state = replace(state, culprits=(*self.culprits, asked))
            case Outcome.REFUSED:
                state = replace(state, pending=(*rest, *halves(asked)))
        return state.stopped() if state.budget <= 0 else state

    def stopped(self) -> "Bisection":
        """The deadline has come: what was not asked fails this cycle."""
        return replace(self, pending=(), lost=(*self.lost, *self.pending))


def bisect(query: PlannedQuery, budget: int = BUDGET) -> Bisection:
    """The search in a query that was refused. For one that has no halves it is over."""
    if len(query.members) == 1:
        return Bisection((), budget, culprits=(query,))
    search = Bisection(halves(query), budget)
    return search.stopped() if budget <= 0 else search


def halves(query: PlannedQuery) -> tuple[PlannedQuery, ...]:
    """Two queries for its members, the first half last."""
    keys = sorted(query.members)
    middle = (len(keys) + 1) // 2
    return query.narrowed(keys[middle:]), query.narrowed(keys[:middle])
