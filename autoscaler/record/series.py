"""The points of charts: the part of a recorded decision that charts need."""

from datetime import datetime
from typing import NamedTuple

from autoscaler.model import Decision, TargetType
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


def series_row(decision: Decision, at: int, bounds: tuple[int, int]) -> SeriesRow:
    """Return the row of a decision at this time (microseconds).

    `bounds`: the configuration's, for a decision that has none because the target could not be read.
    """
    own = decision.bounds
    return SeriesRow(
        at,
        decision.current,
        decision.desired,
        *(bounds if own is None else (own.minimum.size, own.maximum.size)),
        decision.dry_run,
        tuple([(each.name, each.target.type, each.target.value) for each in decision.metrics]),
        tuple([each.current for each in decision.metrics]),
    )
