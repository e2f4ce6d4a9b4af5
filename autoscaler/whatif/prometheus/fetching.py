"""Fetches the answers of a long time by range queries, in blocks that are cached on disk.

The length of a block is a power of two, and it begins at a multiple of its length. So every time is split into the same
blocks, and a block is fetched once.
"""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Final, Protocol, TypeAlias

from autoscaler.clock import Clock
from autoscaler.errors import MetricError, PastError
from autoscaler.observe.failure import QueryError, outcome_of
from autoscaler.observe.plan import Question
from autoscaler.observe.planner import Outcome
from autoscaler.observe.ranges import Grid, RangeResult
from autoscaler.observe.result import QueryResult
from autoscaler.observe.selectors import selectors
from autoscaler.whatif.prometheus.pace import Pace
from autoscaler.whatif.prometheus.range_cache import RangeCache

LARGEST: Final = 8192
"""Steps of a block: the largest power of two below Prometheus' 11,000 points per series."""
SMALLEST: Final = 128
_MOST_POINTS: Final = 250_000
"""Of an answer: some 8 MB of text."""
_MOST_SAMPLES: Final = 25_000_000
"""That a query loads: half of Prometheus' limit, because a range selector loads more than one per step."""
_SETTLED: Final = timedelta(minutes=10)
"""The age at which samples are complete. Younger answers are not cached."""
_MOST_TRIES: Final = 6
"""Of a smallest block, if the server has answered before."""
_TRIES_BEFORE_HALVING: Final = 2
_FIRST_PAUSE_SECONDS: Final = 2.0
_MOST_REFUSALS: Final = 16
"""Of one question, after which refused blocks are no longer halved."""
_LONG: Final = 3600.0
"""Seconds until the deadline of a query; the source's own timeout is shorter."""

Progress: TypeAlias = Callable[[float], object]
"""Called with the share that is fetched, 0 to 1. It may fall when more turns out to be needed."""


class Server(Protocol):
    """A Prometheus; `observe.Prometheus` implements it. Both methods raise MetricError."""

    def query(self, expr: str, at: datetime, deadline: float) -> QueryResult:
        """An instant query."""

    def range(self, expr: str, grid: Grid, deadline: float) -> RangeResult:
        """A range query."""


def no_progress(share: float) -> None:
    """Shows nothing."""


class Recording:
    """The answers to one question over a time, with one block in memory."""

    def __init__(self, blocks: Sequence[Grid], load: Callable[[Grid], RangeResult | MetricError], span: Grid) -> None:
        self._blocks, self._load, self._span = blocks, load, span

    def results(self) -> Iterator[QueryResult | MetricError]:
        """The answer at each step. Each call reads them again. Raises PastError."""
        end = self._span.first + self._span.count
        for block in self._blocks:
            answer = self._load(block)
            for index, result in enumerate(_results(answer, block.count), block.first):
                if self._span.first <= index < end:
                    yield result

    def refusal(self) -> MetricError | None:
        """The first refusal; None if no block was refused. Raises PastError."""
        answers = (self._load(block) for block in self._blocks)
        return next((each for each in answers if isinstance(each, MetricError)), None)


class Fetcher:
    """Fetches from any number of Prometheus servers. It belongs to one thread."""

    def __init__(
        self,
        servers: Mapping[str, Server],
        cache: RangeCache,
        clock: Clock,
        progress: Progress = no_progress,
        sleep: Callable[[float], object] = time.sleep,
    ) -> None:
        self._servers, self._cache, self._clock = servers, cache, clock
        self._progress, self._sleep = progress, sleep
        self._done = self._total = 0
        self._unkept: dict[tuple[Question, Grid], RangeResult | MetricError] = {}
        """Answers that are too young to be cached, and refusals."""
        self._paces: dict[str, Pace] = {}
        self._most_steps: dict[Question, int] = {}
        self._refusals: dict[Question, int] = {}

    def now(self) -> datetime:
        """The time, after which there is nothing to fetch."""
        return self._clock.now()

    def fetch(self, questions: Sequence[Question], span: Grid) -> Mapping[Question, Recording]:
        """Fetch the answers to these questions.

        The answer to a question that the server refuses is the refusal. Raises PastError if a server fails.
        """
        planned = blocks(span)
        self._total += sum(block.count for block in planned) * len(questions)
        return {
            question: Recording(
                [each for block in planned for each in self._fetch_block(question, block)],
                lambda block, question=question: self._load(question, block),  # type: ignore[misc] # mypy knows no default in a lambda
                span,
            )
            for question in dict.fromkeys(questions)
        }

    def _fetch_block(self, question: Question, block: Grid) -> Sequence[Grid]:
        """Fetch a block, in parts if necessary; return the parts."""
        if (question, block) in self._unkept or self._cache.load(question, block) is not None:
            self._advance(block.count)
            return [block]
        if block.count > self._limit(question):
            return self._in_halves(question, block)
        answer = self._request(question, block)
        if isinstance(answer, MetricError) and block.count > SMALLEST and self._may_succeed_in_halves(question, answer):
            return self._in_halves(question, block)
        self._keep(question, block, answer)
        self._advance(block.count)
        return [block]

    def _in_halves(self, question: Question, block: Grid) -> Sequence[Grid]:
        half = block.count // 2
        parts = replace(block, count=half), replace(block, first=block.first + half, count=block.count - half)
        return [each for part in parts for each in self._fetch_block(question, part)]

    def _may_succeed_in_halves(self, question: Question, error: MetricError) -> bool:
        """Whether smaller blocks may succeed: the block was too large, or a single step caused the refusal."""
        if outcome_of(error) is Outcome.TOO_LARGE:
            return True
        self._refusals[question] = self._refusals.get(question, 0) + 1
        return self._refusals[question] <= _MOST_REFUSALS

    def _keep(self, question: Question, block: Grid, answer: RangeResult | MetricError) -> None:
        settled = block.at(block.count - 1) < self._clock.now() - _SETTLED
        if isinstance(answer, MetricError) or not settled:
            self._unkept[question, block] = answer
        else:
            self._cache.save(question, block, answer)

    def _load(self, question: Question, block: Grid) -> RangeResult | MetricError:
        """The answer of a block. It is fetched again if its file was removed or damaged meanwhile."""
        if (known := self._unkept.get((question, block))) is not None:
            return known
        found = self._cache.load(question, block)
        if found is None:
            answer = self._request(question, block)
            self._keep(question, block, answer)
            return answer
        return found

    def _advance(self, steps: int) -> None:
        self._done += steps
        self._progress(self._done / self._total)

    def _request(self, question: Question, block: Grid) -> RangeResult | MetricError:
        """The answer, or the refusal. Raises PastError if the server fails.

        A server that has answered before may be overloaded, so it is asked again, and then for less.
        """
        server, pace = self._servers[question.prometheus], self._pace(question)
        pause = _FIRST_PAUSE_SECONDS
        tries = 1 if not pace.answered else _MOST_TRIES if block.count <= SMALLEST else _TRIES_BEFORE_HALVING
        while True:
            pace.wait()
            began = self._clock.monotonic()
            try:
                answer = server.range(question.expr, block, began + _LONG)
            except MetricError as error:
                if outcome_of(error) not in (Outcome.FAILED, Outcome.LATE):
                    return error
                tries -= 1
                if tries == 0 and pace.answered and block.count > SMALLEST:
                    return QueryError(error, Outcome.TOO_LARGE)
                if tries == 0:
                    kept = "; the answers so far are cached, so the same command continues from here"
                    raise PastError(f"{error}{kept if pace.answered else ''}") from None
            else:
                pace.took(self._clock.monotonic() - began)
                self._learn(question, answer)
                return answer
            self._sleep(pause)
            pause *= 2

    def _learn(self, question: Question, answer: RangeResult) -> None:
        if count := len(answer.series):
            self._most_steps[question] = min(self._limit(question), max(SMALLEST, _MOST_POINTS // count))

    def _limit(self, question: Question) -> int:
        """The steps of one query, by the number of series that its selectors have now."""
        known = self._most_steps.get(question)
        if known is None:
            loaded = self._series(question)
            known = self._most_steps[question] = max(SMALLEST, min(LARGEST, _MOST_SAMPLES // max(loaded, 1)))
        return known

    def _series(self, question: Question) -> int:
        """The number of series; 0 if it is unknown."""
        count = 0
        for selector in selectors(question.expr):
            try:
                points = self._query_now(Question(question.prometheus, f"count({selector})")).points
            except MetricError:
                continue
            count += sum(int(point.value or 0) for point in points)
        return count

    def _query_now(self, question: Question) -> QueryResult:
        now = self._clock.now()
        return self._servers[question.prometheus].query(question.expr, now, self._clock.monotonic() + _LONG)

    def _pace(self, question: Question) -> Pace:
        """That of the question's server. Its first question is the live query, which the daemon sends in each cycle."""
        pace = self._paces.get(question.prometheus)
        if pace is None:
            pace = Pace(lambda: self._query_now(question), self._clock, self._sleep)
            self._paces[question.prometheus] = pace
        return pace


def blocks(span: Grid) -> Sequence[Grid]:
    """The blocks that cover a span. The first may begin earlier than the span."""
    at, end = span.first // SMALLEST * SMALLEST, span.first + span.count
    found = []
    while at < end:
        size = LARGEST
        while size > SMALLEST and (at % size or at + size > end):
            size //= 2
        found.append(replace(span, first=at, count=min(size, end - at)))
        at += size
    return found


def _results(answer: RangeResult | MetricError, count: int) -> Iterator[QueryResult | MetricError]:
    if isinstance(answer, MetricError):
        return iter([answer] * count)
    return answer.results(count)
