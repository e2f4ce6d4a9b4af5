"""What a query without an answer, or without a sample, says of itself; any other MetricError says nothing of it."""

from autoscaler.errors import MetricError
from autoscaler.model import Query
from autoscaler.observe.planner import Outcome


class QueryError(MetricError):
    """A query has no answer, and its text or its data may be why."""

    def __init__(self, message: object, outcome: Outcome) -> None:
        """`outcome`: what a search for the cause makes of it."""
        super().__init__(message)
        self.outcome = outcome

    def __reduce__(self) -> tuple[object, ...]:
        """How it is handed to another process, as the past of an autoscaler is."""
        return type(self), (str(self), self.outcome)


class NoAnswer(QueryError):
    """Nothing came within the time that the query had: the query may be why, or the source."""

    def __init__(self, message: object, outcome: Outcome = Outcome.LATE) -> None:
        """`outcome`: as of any QueryError."""
        super().__init__(message, outcome)


class NoSample(MetricError):
    """A query was answered, and has no sample for its user. Nothing is known of the cause."""

    def __init__(self, what: str, remedy: str, query: Query) -> None:
        """`what` is missing, and what the user may do about it."""
        super().__init__(f"{what}; {remedy}")
        self.what, self.remedy, self.query = what, remedy, query

    def __reduce__(self) -> tuple[object, ...]:
        """As of QueryError."""
        return NoSample, (self.what, self.remedy, self.query)


def outcome_of(error: MetricError) -> Outcome:
    """What a search for the cause makes of an error: FAILED for one that does not speak of the query."""
    return error.outcome if isinstance(error, QueryError) else Outcome.FAILED


def again(error: MetricError, before: str = "", after: str = "") -> MetricError:
    """The same error with words before and after it, without the frames that its traceback keeps alive."""
    message = f"{before}{error}{after}"
    return type(error)(message, error.outcome) if isinstance(error, QueryError) else MetricError(message)
