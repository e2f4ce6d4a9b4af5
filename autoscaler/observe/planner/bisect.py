"""Which members a merged query fails for.

Prometheus refuses a query as a whole (HTTP 4xx: `bad_data`, `execution`) when one member's part fails: two series where
one is needed, say. A query is late, or over a limit on size, as a whole when one member reads too much. The others
should not pay for that, this cycle included. So the query is halved, and halved again where a half fails in one of
these ways, until single members fail, each with its own words. Larger parts are asked first: so the members that are
well are answered early.

Any other failure says that the server cannot answer now: no query follows it.

Invariant: each member of the query is in exactly one of `pending`, `answered`, `culprits` and `lost`.
"""

import re
from dataclasses import dataclass, replace
from enum import Enum, auto
from typing import Final

from autoscaler.observe.planner.query import PlannedQuery

BUDGET: Final = 40
"""Queries that a search may ask in a cycle: finding two in 250 takes at most 32."""

_REFUSALS: Final = frozenset({"bad_data", "execution", "422"})
"""errorType: prometheus.io/docs/prometheus/latest/querying/api; the last is VictoriaMetrics' word for `execution`."""
_OVERLOADS: Final = frozenset({"timeout", "503"})
"""errorType of an HTTP 503 that speaks of one query: Prometheus' and VictoriaMetrics' words for its time being over."""
_SIZE: Final = re.compile(r"\b(too (many|large|long)|exceed|limit|maximum|max[A-Z-])")
"""In what servers say of their limits on samples, series, points and bytes."""
_TIME: Final = re.compile(r"\b(timed? ?out|deadline exceeded)")
"""In what servers say of a query whose time is over."""
_QUOTED: Final = re.compile(r'"(?:[^"\\]|\\.)*"', re.DOTALL)
"""Label values and parts of the query, in which any word may stand."""


class Outcome(Enum):
    """What a query came to."""

    ANSWERED = auto()
    REFUSED = auto()
    """Something in it is wrong."""
    TOO_LARGE = auto()
    """It, or its answer, is over a limit on size."""
    LATE = auto()
    """It had its time, and no answer came in it: the query may be why, or the server."""
    FAILED = auto()
    """The server did not answer, or cannot, for a reason that is not the query's."""

    @property
    def costly(self) -> bool:
        """Whether it failed for what it costs."""
        return self in (Outcome.TOO_LARGE, Outcome.LATE)


def refused(status: int, error_type: str, error: str) -> Outcome:
    """What an error of the HTTP API is: REFUSED only when it surely speaks of the expression or the data."""
    if status == 503 and error_type in _OVERLOADS:
        return Outcome.LATE
    if not 400 <= status < 500 or error_type not in _REFUSALS:
        return Outcome.FAILED
    said = _QUOTED.sub("", error)
    if _TIME.search(said):
        return Outcome.LATE
    return Outcome.TOO_LARGE if _SIZE.search(said) else Outcome.REFUSED


@dataclass(frozen=True, slots=True)
class Bisection:
    """How far the search has come in one query."""

    pending: tuple[PlannedQuery, ...]
    """What is still to be asked, in this order."""
    budget: int
    """How many more queries may be asked."""
    answered: tuple[PlannedQuery, ...] = ()
    culprits: tuple[PlannedQuery, ...] = ()
    """Those of one member that failed: the error they failed with is the member's own."""
    lost: tuple[PlannedQuery, ...] = ()
    """Those that get no answer in this cycle, because the budget, the time or the server is used up."""

    @property
    def next(self) -> PlannedQuery | None:
        """What to ask now; None when the search is over."""
        return self.pending[0] if self.pending else None

    def after(self, outcome: Outcome) -> "Bisection":
        """What `next` came to."""
        asked, *rest = self.pending
        state = replace(self, pending=tuple(rest), budget=self.budget - 1)
        match outcome:
            case Outcome.ANSWERED:
                state = replace(state, answered=(*self.answered, asked))
            case Outcome.FAILED:
                return replace(state, lost=(*self.lost, asked)).stopped()
            case _ if len(asked.members) == 1:
                state = replace(state, culprits=(*self.culprits, asked))
            case _:
                state = replace(state, pending=(*rest, *halves(asked)))
        return state.stopped() if state.budget <= 0 else state

    def stopped(self) -> "Bisection":
        """The deadline has come: what was not asked fails this cycle."""
        return replace(self, pending=(), lost=(*self.lost, *self.pending))


def bisect(query: PlannedQuery, budget: int = BUDGET) -> Bisection:
    """The search in a query that failed. For one that has no halves it is over."""
    if len(query.members) == 1:
        return Bisection((), budget, culprits=(query,))
    search = Bisection(halves(query), budget)
    return search.stopped() if budget <= 0 else search


def halves(query: PlannedQuery) -> tuple[PlannedQuery, ...]:
    """Two queries for its members."""
    keys = sorted(query.members)
    middle = (len(keys) + 1) // 2
    return query.narrowed(keys[:middle]), query.narrowed(keys[middle:])
