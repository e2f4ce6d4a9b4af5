"""Errors of queries without an answer or without a sample."""

from autoscaler.errors import MetricError
from autoscaler.model import Query
from autoscaler.observe.planner import Outcome


class QueryError(MetricError):
    """A query failed, and its text or its data may be the cause."""

    def __init__(self, message: object, outcome: Outcome) -> None:
        """`outcome`: the result for a search for the cause."""
        super().__init__(message)
        self.outcome = outcome

    def __reduce__(self) -> tuple[object, ...]:
        """Support pickling, for worker processes."""
        return type(self), (str(self), self.outcome)


class NoAnswer(QueryError):
    """No answer came within the query's time limit. The cause may be the query or the source."""

    def __init__(self, message: object, outcome: Outcome = Outcome.LATE) -> None:
        """`outcome`: as for QueryError."""
        super().__init__(message, outcome)


class NoSample(MetricError):
    """A query was answered without a sample for its user. The cause is unknown."""

    def __init__(self, what: str, remedy: str, query: Query) -> None:
        """`what` is missing, and `remedy` says what the user can do."""
        super().__init__(f"{what}; {remedy}")
        self.what, self.remedy, self.query = what, remedy, query

    def __reduce__(self) -> tuple[object, ...]:
        """Support pickling."""
        return NoSample, (self.what, self.remedy, self.query)


def outcome_of(error: MetricError) -> Outcome:
    """Return an error's outcome for a search: FAILED if the error does not concern the query."""
    return error.outcome if isinstance(error, QueryError) else Outcome.FAILED


def with_context(error: MetricError, before: str = "", after: str = "") -> MetricError:
    """Return the same error with text before and after it, and without the frames of its traceback."""
    message = f"{before}{error}{after}"
    return type(error)(message, error.outcome) if isinstance(error, QueryError) else MetricError(message)
