"""Fetches the answers of a long time by range queries, in blocks."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Final, NamedTuple

from autoscaler.clock import Clock
from autoscaler.errors import PastError
from autoscaler.observe.failure import QueryFailure
from autoscaler.observe.plan import Question
from autoscaler.observe.planner.outcome import Outcome
from autoscaler.observe.prometheus import Prometheus
from autoscaler.observe.ranges import Grid, RangeResult
from autoscaler.observe.result import QueryResult

BLOCK: Final = 128
"""Steps of one query. A small query delays live ones less, and the answer to a fleet's shared query stays small."""
_LONG: Final = 3600.0
"""Seconds until the deadline of a query; the source's own timeout is shorter."""


class Block(NamedTuple):
    """The answer to one question over a part of the time."""

    steps: int
    answer: RangeResult | QueryFailure
    """The answer, or the refusal."""

    def results(self) -> Iterator[QueryResult | QueryFailure]:
        """The answer at each step."""
        if isinstance(self.answer, QueryFailure):
            return iter([self.answer] * self.steps)
        return self.answer.results(self.steps)


class Recording(NamedTuple):
    """The answers to one question."""

    blocks: Sequence[Block]
    """In order of time."""

    def results(self) -> Iterator[QueryResult | QueryFailure]:
        """The answer at each step."""
        return (result for block in self.blocks for result in block.results())

    def refusal(self) -> QueryFailure | None:
        """The first refusal; None if no block was refused."""
        return next((each.answer for each in self.blocks if isinstance(each.answer, QueryFailure)), None)


class Fetcher:
    """Fetches from any number of Prometheus servers, one query after another."""

    def __init__(self, servers: Mapping[str, Prometheus], clock: Clock) -> None:
        self._servers, self._clock = servers, clock

    def now(self) -> datetime:
        """The time, after which there is nothing to fetch."""
        return self._clock.now()

    def fetch(self, questions: Sequence[Question], span: Grid) -> Mapping[Question, Recording]:
        """Fetch the answers to these questions.

        The answer to a question that the server refuses is the refusal. Raises PastError if a server fails.
        """
        return {
            question: Recording([Block(part.count, self._request(question, part)) for part in parts(span)])
            for question in questions
        }

    def _request(self, question: Question, part: Grid) -> RangeResult | QueryFailure:
        """The answer, or the refusal. Raises PastError if the server fails: it may be overloaded."""
        answer = self._servers[question.prometheus].range(question.expr, part, self._clock.monotonic() + _LONG)
        if isinstance(answer, QueryFailure) and answer.outcome in (Outcome.FAILED, Outcome.LATE):
            raise PastError(f"{answer.message}; try again later, or for a shorter time (--since)")
        return answer


def parts(span: Grid) -> Sequence[Grid]:
    """Return the span in parts, in order of time. One query fetches a part."""
    end = span.first + span.count
    return [replace(span, first=at, count=min(BLOCK, end - at)) for at in range(span.first, end, BLOCK)]
