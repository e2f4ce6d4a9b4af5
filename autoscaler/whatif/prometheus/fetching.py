"""Reads the answers of a long time by range queries: in blocks, one after another, kept on disk.

A block begins at a multiple of its own length, a power of two: so whatever time is asked for, the blocks are the same
ones, and what was fetched once is found again.
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
"""Steps of a block: the largest power of two below Prometheus' 11,000 points a series."""
SMALLEST: Final = 128
_MOST_POINTS: Final = 250_000
"""Of an answer: some 8 MB of text."""
_MOST_SAMPLES: Final = 25_000_000
"""That a query loads: half of Prometheus' own limit, for a range selector loads more than one for each step."""
_SETTLED: Final = timedelta(minutes=10)
"""After which no sample is added any more: what is younger is not kept."""
_MOST_TRIES: Final = 6
"""Of one of the smallest blocks, when a server fails that has answered before."""
_TRIES_BEFORE_HALVING: Final = 2
_FIRST_PAUSE_SECONDS: Final = 2.0
_MOST_REFUSALS: Final = 16
"""Of one question, after which it is not asked in smaller parts any more."""
_LONG: Final = 3600.0
"""Seconds; each request has its source's own timeout."""

Progress: TypeAlias = Callable[[float], object]
"""Told which share of what is to be fetched is there, 0 to 1. It may fall, for what there is to fetch is found out."""


class Source(Protocol):
    """What a Prometheus is asked; `observe.Prometheus` implements it. Both raise MetricError."""

    def query(self, expr: str, at: datetime, deadline: float) -> QueryResult:
        """An instant query."""

    def range(self, expr: str, grid: Grid, deadline: float) -> RangeResult:
        """A range query."""


def no_progress(share: float) -> None:
    """Shows nothing."""


class Recording:
    """One question's answers over a time. It reads one block at a time into memory."""

    def __init__(self, blocks: Sequence[Grid], load: Callable[[Grid], RangeResult | MetricError], span: Grid) -> None:
        self._blocks, self._load, self._span = blocks, load, span

    def results(self) -> Iterator[QueryResult | MetricError]:
        """What the question came to at each time of the span; read anew at each call. Raises PastError."""
        end = self._span.first + self._span.count
        for block in self._blocks:
            answer = self._load(block)
            for index, result in enumerate(_results(answer, block.count), block.first):
                if self._span.first <= index < end:
                    yield result

    def refusal(self) -> MetricError | None:
        """With which words the first block was answered that was refused; None: none was. Raises PastError."""
        answers = (self._load(block) for block in self._blocks)
        return next((each for each in answers if isinstance(each, MetricError)), None)


class Fetcher:
    """Fetches from any number of Prometheus servers. One thread's."""

    def __init__(
        self,
        sources: Mapping[str, Source],
        cache: RangeCache,
        clock: Clock,
        progress: Progress = no_progress,
        sleep: Callable[[float], object] = time.sleep,
    ) -> None:
        self._sources, self._cache, self._clock = sources, cache, clock
        self._progress, self._sleep = progress, sleep
        self._done = self._total = 0
        self._unkept: dict[tuple[Question, Grid], RangeResult | MetricError] = {}
        """Too young to be kept, or refused."""
        self._paces: dict[str, Pace] = {}
        self._most_steps: dict[Question, int] = {}
        self._refusals: dict[Question, int] = {}

    def now(self) -> datetime:
        """The time: nothing later can be asked for."""
        return self._clock.now()

    def fetch(self, questions: Sequence[Question], span: Grid) -> Mapping[Question, Recording]:
        """The answers to these questions, all of them fetched when this returns.

        A question that is refused has that refusal as its answer. Raises PastError where a server cannot be asked.
        """
        planned = blocks(span)
        self._total += sum(block.count for block in planned) * len(questions)
        return {
            question: Recording(
                [each for block in planned for each in self._fetched(question, block)],
                lambda block, question=question: self._loaded(question, block),  # type: ignore[misc] # mypy knows no default in a lambda
                span,
            )
            for question in dict.fromkeys(questions)
        }

    def _fetched(self, question: Question, block: Grid) -> Sequence[Grid]:
        """The blocks in which this one is there, once they are."""
        if (question, block) in self._unkept or self._cache.load(question, block) is not None:
            self._advance(block.count)
            return [block]
        if block.count > self._limit(question):
            return self._in_halves(question, block)
        answer = self._asked(question, block)
        if isinstance(answer, MetricError) and block.count > SMALLEST and self._worth_halving(question, answer):
            return self._in_halves(question, block)
        self._keep(question, block, answer)
        self._advance(block.count)
        return [block]

    def _in_halves(self, question: Question, block: Grid) -> Sequence[Grid]:
        half = block.count // 2
        parts = replace(block, count=half), replace(block, first=block.first + half, count=block.count - half)
        return [each for part in parts for each in self._fetched(question, part)]

    def _worth_halving(self, question: Question, error: MetricError) -> bool:
        """One moment may be why a whole block was refused; or the block is too much at once."""
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

    def _loaded(self, question: Question, block: Grid) -> RangeResult | MetricError:
        """Asked for again if its file was removed or damaged meanwhile."""
        if (known := self._unkept.get((question, block))) is not None:
            return known
        found = self._cache.load(question, block)
        if found is None:
            answer = self._asked(question, block)
            self._keep(question, block, answer)
            return answer
        return found

    def _advance(self, steps: int) -> None:
        self._done += steps
        self._progress(self._done / self._total)

    def _asked(self, question: Question, block: Grid) -> RangeResult | MetricError:
        """The answer, or with which words the question was refused. Raises PastError when the server fails.

        A server that has answered before may only have too much to do: it is asked again, and then for less.
        """
        source, pace = self._sources[question.prometheus], self._pace(question)
        pause = _FIRST_PAUSE_SECONDS
        tries = 1 if not pace.answered else _MOST_TRIES if block.count <= SMALLEST else _TRIES_BEFORE_HALVING
        while True:
            pace.wait()
            began = self._clock.monotonic()
            try:
                answer = source.range(question.expr, block, began + _LONG)
            except MetricError as error:
                if outcome_of(error) not in (Outcome.FAILED, Outcome.LATE):
                    return error
                tries -= 1
                if tries == 0 and pace.answered and block.count > SMALLEST:
                    return QueryError(error, Outcome.TOO_LARGE)
                if tries == 0:
                    kept = "; what was fetched until then is kept, so the same command goes on from there"
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
        """Steps that one query may be for, by the series that its selectors have now."""
        known = self._most_steps.get(question)
        if known is None:
            loaded = self._series(question)
            known = self._most_steps[question] = max(SMALLEST, min(LARGEST, _MOST_SAMPLES // max(loaded, 1)))
        return known

    def _series(self, question: Question) -> int:
        """0: it is not known."""
        count = 0
        for selector in selectors(question.expr):
            try:
                points = self._instant(Question(question.prometheus, f"count({selector})")).points
            except MetricError:
                continue
            count += sum(int(point.value or 0) for point in points)
        return count

    def _instant(self, question: Question) -> QueryResult:
        now = self._clock.now()
        return self._sources[question.prometheus].query(question.expr, now, self._clock.monotonic() + _LONG)

    def _pace(self, question: Question) -> Pace:
        """The server's. How fast it serves others is told by the first question: a cycle of the daemon asks it, too."""
        pace = self._paces.get(question.prometheus)
        if pace is None:
            pace = Pace(lambda: self._instant(question), self._clock, self._sleep)
            self._paces[question.prometheus] = pace
        return pace


def blocks(span: Grid) -> Sequence[Grid]:
    """What is asked for a span: it may begin a little earlier. All but the last may be kept."""
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
