"""A Prometheus that answers range queries with a function, and records the queries."""

from array import array
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import timedelta

from autoscaler.observe.failure import QueryFailure
from autoscaler.observe.plan import Question
from autoscaler.observe.ranges import Grid, RangeResult, RangeSeries, Run
from autoscaler.observe.result import QueryResult
from tests.clocks import FakeClock

STEP = timedelta(seconds=15)
LOAD = Question("default", "load")


def numbered(grid: Grid) -> RangeResult:
    """One series whose value is the number of the step since 1970."""
    values = array("d", range(grid.first, grid.first + grid.count))
    return RangeResult((RangeSeries({"instance": "a"}, (Run(0, values.tobytes()),)),))


@dataclass
class FakePrometheus:
    """What `Fetcher` asks of a Prometheus."""

    clock: FakeClock
    answer: Callable[[Grid], RangeResult | QueryFailure] = numbered
    asked: list[Grid] = field(default_factory=list)

    def range(self, expr: str, grid: Grid, deadline: float) -> RangeResult | QueryFailure:
        self.asked.append(grid)
        self.clock.advance(1)
        return self.answer(grid)


def refusing(failure: QueryFailure, when: Callable[[Grid], bool]) -> Callable[[Grid], RangeResult | QueryFailure]:
    """An `answer` with a failure for some queries."""
    return lambda grid: failure if when(grid) else numbered(grid)


def span(first: int, count: int) -> Grid:
    return Grid(STEP, first, count, timedelta(0))


def values(results: Sequence[QueryResult | QueryFailure]) -> list[float | None]:
    """The one value of each; None: an error."""
    return [None if isinstance(each, QueryFailure) else each.points[0].value for each in results]
