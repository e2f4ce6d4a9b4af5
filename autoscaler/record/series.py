"""The points of charts: the part of a recorded decision that charts need."""

from datetime import datetime
from typing import Final, NamedTuple

import msgspec

from autoscaler.model import MetricTarget, MetricType, TargetType
from autoscaler.record.binary import Binary
from autoscaler.record.evaluation import RARE_CHANGES, Columns
from autoscaler.record.times import from_micros


class SeriesRow(NamedTuple):
    """One decision in a chart. Metrics' values are in the unit of their target: whole percents, else thousandths."""

    at: int
    """Microseconds."""
    current: int | None
    desired: int | None
    minimum: int
    """The bounds in force."""
    maximum: int
    dry_run: bool
    metrics: tuple[tuple[str, TargetType, int], ...]
    """Name, and the target's type and value; empty if the cycle is older than `state.detail`."""
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


class _MetricValue(msgspec.Struct, array_like=True):
    """The first fields of a MetricOutcome."""

    name: str
    type: MetricType
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
        *(bounds if rare.bounds is None else (rare.bounds.minimum.size, rare.bounds.maximum.size)),
        rare.dry_run,
        tuple([(each.name, each.target.type, each.target.value) for each in metrics]),
        tuple([each.shown for each in metrics]),
    )
