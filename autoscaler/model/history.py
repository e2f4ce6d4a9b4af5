"""What an autoscaler remembers from one cycle to the next."""

from dataclasses import dataclass
from datetime import datetime
from typing import Generic, TypeVar

from autoscaler.model.condition import Condition
from autoscaler.model.metric import MetricOutcome
from autoscaler.model.steering import Steering


@dataclass(frozen=True, slots=True)
class Recommendation:
    """A size that the metrics asked for, before stabilization."""

    replicas: int
    at: datetime


@dataclass(frozen=True, slots=True)
class ScaleEvent:
    """A size change that was written; `change` > 0 in both directions."""

    change: int
    at: datetime


_Entry = TypeVar("_Entry", Recommendation, ScaleEvent)


@dataclass(frozen=True, slots=True)
class Slot(Generic[_Entry]):
    """An entry to remember and where: HPA overwrites an outdated entry in place, else it appends."""

    index: int
    entry: _Entry


@dataclass(frozen=True, slots=True)
class Status:
    """HPA's status after a step; what a failed read or write leaves standing."""

    current: int = 0
    desired: int = 0
    metrics: tuple[MetricOutcome, ...] = ()


@dataclass(frozen=True, slots=True)
class Intent:
    """A write that was announced and whose outcome is unknown (the daemon died between the two)."""

    size: int
    decided_from: int
    at: datetime


@dataclass(frozen=True, slots=True)
class History:
    """Everything a decision remembers. Entries keep their slots: order is not time."""

    recommendations: tuple[Recommendation, ...] = ()
    scale_ups: tuple[ScaleEvent, ...] = ()
    scale_downs: tuple[ScaleEvent, ...] = ()
    conditions: tuple[Condition, ...] = ()
    status: Status = Status()
    unfinished: Intent | None = None
    steering: Steering = Steering()
    at: datetime | None = None
    """Of the last decision; None: there was none. No entry is later."""
