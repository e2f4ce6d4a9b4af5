"""Queries without an answer or without a sample."""

from http import HTTPStatus
from typing import Final

from msgspec.structs import replace

from autoscaler.errors import MetricError
from autoscaler.model import Failure, Query
from autoscaler.observe.planner.outcome import Outcome

_NOT_NOW: Final = (HTTPStatus.BAD_GATEWAY, HTTPStatus.SERVICE_UNAVAILABLE, HTTPStatus.GATEWAY_TIMEOUT)


def not_now(status: int) -> str | None:
    """Return what to do about an HTTP status that means that the server cannot answer now; None for another status."""
    if status == HTTPStatus.TOO_MANY_REQUESTS:
        return "it limits its clients: raise its limit, or lower concurrency"
    if status in _NOT_NOW:
        return "it is starting or busy, or its proxy does not reach it: wait, or see their logs"
    return None


class QueryFailure(Failure, frozen=True, gc=False):
    """Why a query has no answer. Made once, where the failure is seen."""

    outcome: Outcome = Outcome.FAILED
    """FAILED: neither the query's text nor its data is the cause."""
    answered: bool = False
    """Whether the server answered, or its answer was too large: the server works."""

    @property
    def late(self) -> bool:
        """Whether no answer came within the query's time limit."""
        return self.outcome is Outcome.LATE and not self.answered


class Unsampled(Failure, frozen=True, gc=False):
    """A query was answered without a sample for its user. The cause is unknown."""

    query: Query


class NoValue(MetricError):
    """Raised with a failure, which the catcher returns as a value."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure)
        self.failure = replace(failure, message=str(self))


def no_sample(query: Query) -> str:
    """Return that this query's answer has no sample, as a part of a sentence."""
    match = "".join(f' with {name}="{value}"' for name, value in query.match)
    return f"the query returned no sample{match}"
