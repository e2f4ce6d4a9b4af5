"""When series had samples: unbroken runs of steps, as half-open pairs of indexes into a span."""

from array import array
from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple, TypeAlias

from autoscaler.errors import MetricError
from autoscaler.whatif.prometheus.fetching import Recording

Runs: TypeAlias = Sequence[tuple[int, int]]
"""Index of the first step and that after the last, in order, none touching another."""


class Row(NamedTuple):
    """One series of a recording."""

    labels: Mapping[str, str]
    runs: Runs


def rows_of(recording: Recording, count: int, counts: Callable[[float], bool] | None = None) -> Sequence[Row]:
    """Its series, and when they had a sample, of a span of `count` steps. `counts`: which values are one; None: any."""
    found: dict[tuple[tuple[str, str], ...], tuple[Mapping[str, str], list[tuple[int, int]]]] = {}
    for begin, _, answer in recording.answers():
        if isinstance(answer, MetricError):
            continue
        for series in answer.series:
            _, runs = found.setdefault(tuple(sorted(series.labels.items())), (series.labels, []))
            for run in series.runs:
                values = array("d", run.values)
                first = begin + run.first
                if counts is None:
                    runs.append((first, first + len(values)))
                else:
                    runs += [(first + index, first + index + 1) for index, each in enumerate(values) if counts(each)]
            runs += [(begin + index, begin + index + 1) for index in series.histograms]
    return [Row(labels, inside(union(runs), count)) for labels, runs in found.values()]


def union(runs: Iterable[tuple[int, int]]) -> Runs:
    """All steps that are in one of them."""
    found: list[tuple[int, int]] = []
    for begin, end in sorted(runs):
        if found and begin <= found[-1][1]:
            found[-1] = found[-1][0], max(end, found[-1][1])
        else:
            found.append((begin, end))
    return found


def inside(runs: Runs, count: int) -> Runs:
    """What of them is in a span of so many steps."""
    return [(max(begin, 0), min(end, count)) for begin, end in runs if end > 0 and begin < count]


def complement(runs: Runs, count: int) -> Runs:
    """The steps of a span of so many that are in none of them."""
    found, at = [], 0
    for begin, end in runs:
        if begin > at:
            found.append((at, begin))
        at = end
    if at < count:
        found.append((at, count))
    return found


def bridged(runs: Runs, gaps: Runs) -> Runs:
    """With the steps between two of them that are all in one of the gaps."""
    found = list(runs[:1])
    for begin, end in runs[1:]:
        before = found[-1][1]
        if covers(gaps, before) and covers(gaps, begin - 1) and _which(gaps, before) == _which(gaps, begin - 1):
            found[-1] = found[-1][0], end
        else:
            found.append((begin, end))
    return found


def covers(runs: Runs, index: int) -> bool:
    """Whether a step is in one of them."""
    number = _which(runs, index)
    return number >= 0 and index < runs[number][1]


def _which(runs: Runs, index: int) -> int:
    """The last run that begins at or before a step; -1: there is none."""
    return bisect_right(runs, index, key=lambda run: run[0]) - 1
