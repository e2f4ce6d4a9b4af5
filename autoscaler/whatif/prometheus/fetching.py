"""Fetches the answers of a long time by range queries, in blocks."""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Final, NamedTuple, Protocol

from msgspec import structs

from autoscaler.clock import Clock
from autoscaler.errors import PastError
from autoscaler.observe.failure import QueryFailure
from autoscaler.observe.plan import Question
from autoscaler.observe.planner.outcome import Outcome
from autoscaler.observe.ranges import Grid, RangeResult
from autoscaler.observe.result import QueryResult

BLOCK: Final = 512
"""Steps of one query: Prometheus allows 11,000 points per series, and a small query delays live queries less."""
MIN_STEPS: Final = 64
"""Steps of a query whose larger ones are too large or too late for the server."""
_MAX_TRIES: Final = 6
"""Of a smallest query, if the server has answered before."""
_TRIES_BEFORE_HALVING: Final = 2
_FIRST_PAUSE_SECONDS: Final = 2.0
_MAX_REST_SECONDS: Final = 10.0
"""After an answer, the server rests for as long as it took, at most this long."""
_LONG: Final = 3600.0
"""Seconds until the deadline of a query; the source's own timeout is shorter."""


class Server(Protocol):
    """A Prometheus; `observe.Prometheus` implements it."""

    def range(self, expr: str, grid: Grid, deadline: float) -> RangeResult | QueryFailure:
        """A range query."""


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
    """Fetches from any number of Prometheus servers. It belongs to one thread."""

    def __init__(
        self,
        servers: Mapping[str, Server],
        clock: Clock,
        progress: Callable[[float], object] = lambda _: None,
        sleep: Callable[[float], object] = time.sleep,
    ) -> None:
        """`progress` is called with the share that is fetched, which falls when more turns out to be needed."""
        self._servers, self._clock = servers, clock
        self._progress, self._sleep = progress, sleep
        self._done = self._total = 0
        self._rests: dict[str, float] = {}
        """Seconds before the next query to each server that has answered."""
        self._most_steps: dict[Question, int] = {}
        """Of one query, where a larger one was too large or too late."""

    def now(self) -> datetime:
        """The time, after which there is nothing to fetch."""
        return self._clock.now()

    def fetch(self, questions: Sequence[Question], span: Grid) -> Mapping[Question, Recording]:
        """Fetch the answers to these questions.

        The answer to a question that the server refuses is the refusal. Raises PastError if a server fails.
        """
        questions = list(dict.fromkeys(questions))
        self._total += span.count * len(questions)
        return {
            question: Recording([block for part in parts(span) for block in self._blocks(question, part)])
            for question in questions
        }

    def _blocks(self, question: Question, part: Grid) -> Iterator[Block]:
        """Fetch a part of the time, in halves if it is too much for the server at a time."""
        if part.count <= self._most_steps.get(question, BLOCK):
            answer = self._request(question, part)
            is_too_large = isinstance(answer, QueryFailure) and answer.outcome is Outcome.TOO_LARGE
            if not is_too_large or part.count <= MIN_STEPS:
                self._done += part.count
                self._progress(self._done / self._total)
                yield Block(part.count, answer)
                return
            self._most_steps[question] = max(MIN_STEPS, part.count // 2)
        half = part.count // 2
        yield from self._blocks(question, replace(part, count=half))
        yield from self._blocks(question, replace(part, first=part.first + half, count=part.count - half))

    def _request(self, question: Question, part: Grid) -> RangeResult | QueryFailure:
        """The answer, or the refusal. Raises PastError if the server fails.

        A server that has answered before may be overloaded, so it is asked again after a pause, and then for less.
        """
        name, pause = question.prometheus, _FIRST_PAUSE_SECONDS
        has_answered, is_smallest = name in self._rests, part.count <= MIN_STEPS
        tries = 1 if not has_answered else _MAX_TRIES if is_smallest else _TRIES_BEFORE_HALVING
        while True:
            self._sleep(self._rests.get(name, 0.0))
            began = self._clock.monotonic()
            answer = self._servers[name].range(question.expr, part, began + _LONG)
            if not isinstance(answer, QueryFailure):
                self._rests[name] = min(self._clock.monotonic() - began, _MAX_REST_SECONDS)
                return answer
            if answer.outcome not in (Outcome.FAILED, Outcome.LATE):
                return answer
            tries -= 1
            if tries == 0 and has_answered and not is_smallest:
                return structs.replace(answer, outcome=Outcome.TOO_LARGE)
            if tries == 0:
                raise PastError(answer.message)
            self._sleep(pause)
            pause *= 2


def parts(span: Grid) -> Sequence[Grid]:
    """Return the span in parts, in order of time. One query fetches a part."""
    end = span.first + span.count
    return [replace(span, first=at, count=min(BLOCK, end - at)) for at in range(span.first, end, BLOCK)]
