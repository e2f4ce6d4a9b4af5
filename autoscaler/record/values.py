"""What the record hands out beside the model's own values."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from autoscaler.model import Autoscaler, Condition, Decision, EventType, Observation, Status, TargetType


@dataclass(frozen=True, slots=True)
class Record:
    """One recorded cycle of an autoscaler: what was asked for, what was seen, what was decided."""

    scaler: Autoscaler
    observation: Observation
    decision: Decision


@dataclass(frozen=True, slots=True)
class EventRow:
    """Equal events of one autoscaler, counted: `x5 over 96s`."""

    name: str
    """The autoscaler's."""
    type: EventType
    reason: str
    message: str
    count: int
    first: datetime
    last: datetime
    dry_run: bool


@dataclass(frozen=True, slots=True)
class MetricPoint:
    """One metric at one time, in the unit of its target: whole percents, else thousandths."""

    name: str
    target_type: TargetType
    target: int
    value: int | None
    """None: the metric failed."""


@dataclass(frozen=True, slots=True)
class SeriesRow:
    """One decision as a chart needs it."""

    at: datetime
    current: int | None
    desired: int | None
    minimum: int
    maximum: int
    """The autoscaler's own bounds at that time."""
    dry_run: bool
    metrics: tuple[MetricPoint, ...]


@dataclass(frozen=True, slots=True)
class StateSize:
    """How large the state is."""

    bytes: int
    rows: Mapping[str, int]
    """Table -> rows; of large tables the database's own estimate."""


@dataclass(frozen=True, slots=True)
class Standing:
    """The part of a History that each cycle replaces as a whole; kept as one value."""

    conditions: tuple[Condition, ...]
    status: Status


@dataclass(frozen=True, slots=True)
class Seen:
    """What a decision was made from and came to; kept as one value."""

    observation: Observation
    decision: Decision
