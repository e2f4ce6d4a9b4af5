"""The points of charts: the part of a recorded decision that charts need.

Packed, they take a few bytes for each cycle, and are kept longer than whole cycles.
"""

from collections.abc import Iterable, Sequence
from datetime import datetime
from itertools import groupby
from typing import Final, NamedTuple, TypeAlias

import msgspec

from autoscaler.model import MetricTarget, TargetType
from autoscaler.record.binary import Binary, differences, pack, running_sums, unpack
from autoscaler.record.evaluation import RARE_CHANGES, Columns
from autoscaler.record.times import from_micros


class SeriesRow(NamedTuple):
    """One cycle in a chart. Metrics' values are in the unit of their target: whole percents, else thousandths."""

    at: int
    """Microseconds."""
    current: int | None
    desired: int | None
    minimum: int
    """The bounds in force."""
    maximum: int
    dry_run: bool
    metrics: tuple[tuple[str, TargetType, int], ...]
    """Name, and the target's type and value."""
    values: tuple[int | None, ...]
    """The value of each metric; None if it failed."""

    @property
    def time(self) -> datetime:
        """Its time in UTC."""
        return from_micros(self.at)


class _Sizes(msgspec.Struct, array_like=True):
    """The first fields of the column of frequent changes."""

    current: int | None
    desired: int | None


class _MetricValue(msgspec.Struct):
    """The part of a MetricOutcome that charts need."""

    name: str
    target: MetricTarget
    value: int | None
    average_value: int | None
    average_utilization: int | None

    @property
    def shown(self) -> int | None:
        """The value in the target's unit."""
        if self.target.type is TargetType.UTILIZATION:
            return self.average_utilization
        return self.average_value if self.target.type is TargetType.AVERAGE_VALUE else self.value


_SIZES: Final = Binary[_Sizes](_Sizes)
_METRIC_VALUES: Final = Binary[tuple[_MetricValue, ...]](tuple[_MetricValue, ...])


def series_row(columns: Columns, at: int, bounds: tuple[int, int]) -> SeriesRow:
    """Return the row of the columns DECISION, cheaper than `decision_from`. Raises StateError.

    `bounds`: the configuration's, for a decision that has none because the target could not be read.
    """
    rare, metrics, sizes = (
        RARE_CHANGES.load(columns[0]),
        _METRIC_VALUES.load(columns[1]),
        _SIZES.load(columns[2]),
    )
    return SeriesRow(
        at,
        sizes.current,
        sizes.desired,
        bounds[0] if rare.minimum is None else rare.minimum,
        bounds[1] if rare.maximum is None else rare.maximum,
        rare.dry_run,
        tuple([(each.name, each.target.type, each.target.value) for each in metrics]),
        tuple([each.shown for each in metrics]),
    )


_Frame: TypeAlias = tuple[int, int, bool, tuple[tuple[str, TargetType, int], ...]]
"""Bounds, dry run and metrics."""


class _Block(msgspec.Struct, array_like=True):
    """Points transposed, so that similar values are adjacent."""

    frames: list[tuple[_Frame, int]]
    """Each with the number of points that it applies to."""
    times: list[int]
    """Differences in microseconds. They are exact, because a point of a chart is a link to its decision."""
    currents: list[int | None]
    desired: list[int | None]
    values: list[int | None]
    """Within a frame, all values of the first metric, then of the second. Each is the difference to the one before."""


_BLOCK: Final = Binary[_Block](_Block)


def pack_points(points: Sequence[SeriesRow]) -> bytes:
    """Return one autoscaler's points, which are in order, as a block."""
    frames: list[tuple[_Frame, int]] = []
    values: list[int | None] = []
    for frame, group in groupby(points, key=_frame):
        alike = list(group)
        frames.append((frame, len(alike)))
        for index in range(len(frame[3])):
            values += _stepped(point.values[index] for point in alike)
    return pack(
        _BLOCK.dump(
            _Block(
                frames,
                differences([point.at for point in points]),
                [point.current for point in points],
                [point.desired for point in points],
                values,
            )
        )
    )


def unpack_points(data: bytes) -> list[SeriesRow]:
    """Return the points of `pack_points`. Raises StateError."""
    block = _BLOCK.load(unpack(data))
    times, points, taken = running_sums(block.times), list[SeriesRow](), 0
    for (minimum, maximum, dry_run, metrics), count in block.frames:
        columns = [
            _summed(block.values[taken + index * count : taken + (index + 1) * count]) for index in range(len(metrics))
        ]
        taken += len(metrics) * count
        for each in range(count):
            number = len(points)
            points.append(
                SeriesRow(
                    times[number],
                    block.currents[number],
                    block.desired[number],
                    minimum,
                    maximum,
                    dry_run,
                    metrics,
                    tuple([column[each] for column in columns]),
                )
            )
    return points


def _frame(point: SeriesRow) -> _Frame:
    return point.minimum, point.maximum, point.dry_run, point.metrics


def _stepped(values: Iterable[int | None]) -> list[int | None]:
    before, steps = 0, list[int | None]()
    for value in values:
        steps.append(None if value is None else value - before)
        before = before if value is None else value
    return steps


def _summed(steps: Iterable[int | None]) -> list[int | None]:
    value, values = 0, list[int | None]()
    for step in steps:
        value += step or 0
        values.append(None if step is None else value)
    return values
