"""The results of a query, by what may be their cause."""

import re
from enum import Enum, auto
from typing import Final

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
