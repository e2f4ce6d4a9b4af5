"""Range queries: the times they cover, and their answers in a compact form.

Source: prometheus.io/docs/prometheus/latest/querying/api, "Range queries". At each time a range query returns what an
instant query at that time returns, except for `@ start()` and `@ end()`.
"""

from array import array
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final

import msgspec

from autoscaler.errors import MetricError
from autoscaler.observe.answer import Histogram, Matrix, NotAnAnswer, Value, decoded_as, number, parse_data
from autoscaler.observe.result import Point, QueryResult, ResultType

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_FARTHEST: Final = 0.002
"""Largest difference between a requested time and its sample's, in seconds. Servers count in milliseconds."""


@dataclass(frozen=True, slots=True)
class Grid:
    """`count` times, `step` apart. The first is `first` steps and one `phase` after the start of 1970."""

    step: timedelta
    """Whole milliseconds."""
    first: int
    count: int
    phase: timedelta
    """Less than one step."""

    def at(self, index: int) -> datetime:
        """Return the time with this index, counted from 0."""
        return _EPOCH + self.phase + (self.first + index) * self.step

    def seconds(self, index: int) -> float:
        """Return the time with this index, in seconds since 1970."""
        return ((self.first + index) * self.step + self.phase).total_seconds()


class Run(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """Samples at consecutive times of a grid."""

    first: int
    """Index of the first sample."""
    values: bytes
    """Doubles in this machine's byte order."""


class RangeSeries(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """One series of an answer."""

    labels: Mapping[str, str]
    runs: tuple[Run, ...]
    """In order of time, with gaps between runs."""
    histograms: tuple[int, ...] = ()
    """Indexes of native histograms."""


class RangeResult(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A complete answer."""

    series: tuple[RangeSeries, ...]

    def results(self, count: int) -> Iterator[QueryResult]:
        """Yield what an instant query returns at each of the grid's `count` times."""
        columns = [_Column(each, count) for each in self.series]
        for index in range(count):
            points = [Point(each.labels, each.values[index]) for each in columns if each.there[index]]
            points += [Point(each.labels, None) for each in columns if index in each.histograms]
            yield QueryResult(ResultType.VECTOR, tuple(points))


class _Column:
    """One series with a value at each time."""

    __slots__ = ("histograms", "labels", "there", "values")

    def __init__(self, series: RangeSeries, count: int) -> None:
        self.labels = series.labels
        self.values = array("d", bytes(8 * count))
        self.there = bytearray(count)
        self.histograms = frozenset(series.histograms)
        for run in series.runs:
            samples = array("d", run.values)
            self.values[run.first : run.first + len(samples)] = samples
            self.there[run.first : run.first + len(samples)] = b"\1" * len(samples)


class _Series(msgspec.Struct, gc=False):
    metric: dict[str, str]
    values: list[Value] = []
    histograms: list[Histogram] = []


_DECODER: Final = msgspec.json.Decoder(list[_Series])


def parse_range(body: bytes, status: int, grid: Grid, largest: int) -> RangeResult:
    """Return the complete result of a range query for the grid.

    Raises as `parse_answer` does.
    """
    data = parse_data(body, status, largest)
    if not isinstance(data, Matrix):
        raise NotAnAnswer("it has neither a matrix nor an error")
    decoded = decoded_as(_DECODER, data.result)
    decoded.reverse()
    times, found = _Times(grid), []
    while decoded:  # frees each series once it is read: there may be a million samples
        found.append(_series(decoded.pop(), times))
    return RangeResult(tuple(found))


def _series(read: _Series, times: "_Times") -> RangeSeries:
    runs: list[Run] = []
    begin = expected = -1
    values = array("d")
    for sample in read.values:
        index = times.index(sample.time)
        if index < expected:
            raise NotAnAnswer("the samples of a series are not in order of time")
        if index > expected and values:
            runs.append(Run(begin, values.tobytes()))
            values = array("d")
        if not values:
            begin = index
        values.append(number(sample.text))
        expected = index + 1
    if values:
        runs.append(Run(begin, values.tobytes()))
    return RangeSeries(read.metric, tuple(runs), tuple([times.index(sample.time) for sample in read.histograms]))


class _Times:
    """A grid's times in seconds, for fast lookups."""

    def __init__(self, grid: Grid) -> None:
        self._begin, self._step, self._count = grid.seconds(0), grid.step.total_seconds(), grid.count

    def index(self, time: float) -> int:
        """Return the index of a time. Raises MetricError for a time outside the grid."""
        index = round((time - self._begin) / self._step)
        if not 0 <= index < self._count or abs(time - self._begin - index * self._step) > _FARTHEST:
            raise MetricError(
                "answered a range query with a sample of an unrequested time; let no proxy "
                "move or keep the answers of /api/v1/query_range"
            )
        return index
