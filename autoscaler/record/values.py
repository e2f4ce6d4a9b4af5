"""What the record hands out beside the model's own values."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from autoscaler.model import Autoscaler, Decision, Direction, EventType, History, Observation, TargetType


@dataclass(frozen=True, slots=True)
class Record:
    """One recorded cycle of an autoscaler: what was asked for, what was seen and remembered, what was decided.

    Within `state.detail` `decide(scaler, observation, history, decision.now)` gives the decision again, up to where its
    connection's limits cut it: a step of its trace says how. In the cycle after that, the condition ScalingLimited may
    be another one, too.
    """

    scaler: Autoscaler
    decision: Decision
    observation: Observation | None
    """None: older than `state.detail`, and no longer known."""
    history: History | None
    """What was remembered before it; None: no longer known."""


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
    direction: Direction | None = None


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
    shadow: int | None = None
    """The size that a dry run's shadow had; None: there was none."""


@dataclass(frozen=True, slots=True)
class SizePoint:
    """The size that one decision read."""

    at: datetime
    size: int | None
    """None: it could not be read."""


@dataclass(frozen=True, slots=True)
class Cut:
    """What `state.maxSize` has cut short."""

    tier: str
    """`detail`; `series`: charts, and decisions in which something changed; or `events`."""
    until: datetime
    """Of this tier everything before is gone."""
    at: datetime
    """When that was done last."""


@dataclass(frozen=True, slots=True)
class StateSize:
    """How large the state is."""

    bytes: int
    """On disk."""
    rows: Mapping[str, int]
    """Table -> rows; on PostgreSQL its own estimate."""
    cuts: Sequence[Cut] = ()
