"""Finds the members because of which a merged query fails.

Prometheus rejects a whole query (HTTP 4xx: `bad_data`, `execution`) if one member's part fails, for example with two
series where one is needed. A whole query is late or too large if one member reads too much. The other members should
still be answered in the same cycle. So the query is halved, and failing halves are halved again, until single members
fail with their own errors. Larger parts are asked first, so that healthy members are answered early.

Any other failure means that the server cannot answer now, and ends the search.

Invariant: each member of the query is in exactly one of `pending`, `answered`, `culprits` and `lost`.
"""

import re
from dataclasses import dataclass, replace
from enum import Enum, auto
from typing import Final

from autoscaler.observe.planner.query import PlannedQuery

BUDGET: Final = 40
"""Most queries of a search in one cycle. Finding two members in 250 takes at most 32."""

_REFUSALS: Final = frozenset({"bad_data", "execution", "422"})
"""errorType: prometheus.io/docs/prometheus/latest/querying/api. The last is VictoriaMetrics' name for `execution`."""
_BY_STATUS: Final = {400: "bad_data", 422: "execution"}
"""HTTP status -> errorType, where that is the status's only one."""
_OVERLOADS: Final = frozenset({"timeout", "503"})
"""errorType of an HTTP 503 for a query that timed out, in Prometheus and VictoriaMetrics."""
_SIZE: Final = re.compile(r"\b(too (many|large|long)|exceed|limit|maximum|max[A-Z-])")
"""Matches servers' messages about limits on samples, series, points and bytes."""
_TIME: Final = re.compile(r"\b(timed? ?out|deadline exceeded)")
"""Matches servers' messages about a query's time limit."""
_QUOTED: Final = re.compile(r'"(?:[^"\\]|\\.)*"', re.DOTALL)
"""Label values and parts of the query, which can contain any word."""


class Outcome(Enum):
    """The result of a query."""

    ANSWERED = auto()
    REFUSED = auto()
    """The server rejected it as invalid."""
    TOO_LARGE = auto()
    """The query or its answer exceeds a limit on size."""
    TOO_LONG = auto()
    """It was not sent: its text is too long for the only method that the server takes."""
    LATE = auto()
    """No answer came in time. The cause may be the query or the server."""
    FAILED = auto()
    """The server failed for a reason unrelated to the query."""

    @property
    def costly(self) -> bool:
        """Return whether the query failed because of its cost."""
        return self in (Outcome.TOO_LARGE, Outcome.LATE)


def refused(status: int, error_type: str, error: str) -> Outcome:
    """Classify an error of the HTTP API. REFUSED only if it concerns the expression or the data.

    `error_type`: empty where the server leaves it out, as Grafana Cloud does; the status then says it.
    """
    error_type = error_type or _BY_STATUS.get(status, "")
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
    """The progress of a search in one query."""

    pending: tuple[PlannedQuery, ...]
    """Queries to ask, in this order."""
    budget: int
    """Number of queries that may still be asked."""
    answered: tuple[PlannedQuery, ...] = ()
    culprits: tuple[PlannedQuery, ...] = ()
    """Single members that failed with their own error."""
    lost: tuple[PlannedQuery, ...] = ()
    """Members without an answer in this cycle, because the budget, the time or the server is exhausted."""

    @property
    def next(self) -> PlannedQuery | None:
        """The query to ask now, or None at the end of the search."""
        return self.pending[0] if self.pending else None

    def after(self, outcome: Outcome) -> "Bisection":
        """Return the search after `next` had this outcome."""
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
        return state if state.budget else state.stopped()

    def stopped(self) -> "Bisection":
        """Return the search ended at the deadline. Unasked members fail in this cycle."""
        return replace(self, pending=(), lost=(*self.lost, *self.pending))


def bisect(query: PlannedQuery, budget: int = BUDGET) -> Bisection:
    """Start the search in a failed query of several members."""
    search = Bisection(halves(query), budget)
    return search if budget else search.stopped()


def halves(query: PlannedQuery) -> tuple[PlannedQuery, ...]:
    """Return two queries for the two halves of the members."""
    keys = sorted(query.members)
    middle = (len(keys) + 1) // 2
    return query.narrowed(keys[:middle]), query.narrowed(keys[middle:])
