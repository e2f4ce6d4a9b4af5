"""What charts need of a recorded decision, read from its columns without the rest."""

from typing import Final, NamedTuple

import msgspec

from autoscaler.model import MetricTarget, TargetType
from autoscaler.record.binary import Binary
from autoscaler.record.evaluation import CIRCUMSTANCES, Columns


class Outline(NamedTuple):
    """What a chart needs of a decision. Metrics' values are whole percents for Utilization, else thousandths."""

    current: int | None
    desired: int | None
    shadow: int | None
    """The size that a dry run's shadow had; None: there was none."""
    dry_run: bool
    metrics: tuple[tuple[str, TargetType, int], ...]
    """Name, and the target's type and value."""
    values: tuple[int | None, ...]
    """One for each metric; None: it failed."""


class _Sizes(msgspec.Struct, array_like=True):
    """The beginning of _Course."""

    current: int | None
    desired: int | None


class _MetricValue(msgspec.Struct):
    """What a chart needs of a MetricOutcome."""

    name: str
    target: MetricTarget
    value: int | None
    average_value: int | None
    average_utilization: int | None

    @property
    def shown(self) -> int | None:
        """In the target's unit."""
        if self.target.type is TargetType.UTILIZATION:
            return self.average_utilization
        return self.average_value if self.target.type is TargetType.AVERAGE_VALUE else self.value


_SIZES: Final = Binary[_Sizes](_Sizes)
_METRIC_VALUES: Final = Binary[tuple[_MetricValue, ...]](tuple[_MetricValue, ...])


def size_from(columns: Columns) -> int | None:
    """The size that was read, of the columns of DECISION. Raises StateError."""
    return _SIZES.load(columns[2]).current


def outline_from(columns: Columns) -> Outline:
    """What a chart needs, of the columns of DECISION; it costs a fraction of `decision_from`. Raises StateError."""
    circumstances, metrics, sizes = (
        CIRCUMSTANCES.load(columns[0]),
        _METRIC_VALUES.load(columns[1]),
        _SIZES.load(columns[2]),
    )
    return Outline(
        sizes.current,
        sizes.desired,
        circumstances.shadow,
        circumstances.dry_run,
        tuple([(each.name, each.target.type, each.target.value) for each in metrics]),
        tuple([each.shown for each in metrics]),
    )
