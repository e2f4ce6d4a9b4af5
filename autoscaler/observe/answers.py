"""The answers of one cycle, each indexed once for all its users."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, TypeAlias

from autoscaler.errors import MetricError
from autoscaler.model import Query
from autoscaler.observe.failure import QueryFailure
from autoscaler.observe.plan import Question, age_question, question
from autoscaler.observe.result import Point, QueryResult

Results: TypeAlias = Mapping[Question, QueryResult | QueryFailure]
"""The results of a cycle's questions."""
Series: TypeAlias = frozenset[tuple[str, str]]
"""A series as `timestamp()` returns it: all labels except the name."""
_Values: TypeAlias = tuple[str | None, ...]
"""Values of some labels, in order. None where a sample lacks the label."""


class Answers:
    """The answers to all questions of one cycle. Each answer's samples are indexed once, however many users it has."""

    def __init__(self, results: Results) -> None:
        self._results: Final = results
        self._by_labels: dict[Question, dict[tuple[str, ...], Mapping[_Values, Sequence[Point]]]] = {}
        self._times: dict[Question, Mapping[Series, float | None]] = {}

    def result(self, asked: Question) -> QueryResult:
        """Return the whole answer. Raises MetricError."""
        found = self._results[asked]
        if isinstance(found, QueryFailure):
            raise MetricError(found)
        return found

    def points(self, query: Query) -> Sequence[Point]:
        """Return the samples with every label of the query's `match`. Raises MetricError."""
        asked = question(query)
        result = self.result(asked)
        if not query.match:
            return result.points
        names = tuple([name for name, _ in query.match])
        indexes = self._by_labels.setdefault(asked, {})
        index = indexes.get(names)
        if index is None:
            index = indexes[names] = _by_labels(result.points, names)
        return index.get(tuple([value for _, value in query.match]), ())

    def times(self, query: Query) -> Mapping[Series, float | None]:
        """Return the times, in seconds since 1970, of the samples of a query with maxAge. Raises MetricError."""
        asked = age_question(query)
        result = self.result(asked)
        found = self._times.get(asked)
        if found is None:
            found = self._times[asked] = {series(point): point.value for point in result.points}
        return found

    def forget(self, asked: Question) -> None:
        """Drop the indexes of an answer that is no longer needed."""
        self._by_labels.pop(asked, None)
        self._times.pop(asked, None)


def series(point: Point) -> Series:
    """Return a sample's series as `timestamp()` returns it."""
    return frozenset([label for label in point.labels.items() if label[0] != "__name__"])


def _by_labels(points: Iterable[Point], names: Sequence[str]) -> Mapping[_Values, Sequence[Point]]:
    found: dict[_Values, list[Point]] = {}
    if len(names) == 1:  # the usual case, with up to a million samples
        (name,) = names
        by_value: defaultdict[str | None, list[Point]] = defaultdict(list)
        for point in points:
            by_value[point.labels.get(name)].append(point)
        return {(value,): mine for value, mine in by_value.items()}
    for point in points:
        labels = point.labels
        found.setdefault(tuple([labels.get(name) for name in names]), []).append(point)
    return found
