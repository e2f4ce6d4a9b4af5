"""What is remembered between cycles, and what one cycle decided and why."""

from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Generic, TypeAlias, TypeVar

from autoscaler.errors import TargetError
from autoscaler.model.spec import MetricTarget, MetricType, TargetType
from autoscaler.model.steering import Steering
from autoscaler.model.target import Conflict, Held, ScaleChange, TargetRef, Unchanged, Written
from autoscaler.quantity import Milli


class ConditionType(StrEnum):
    """HPA's conditions."""

    ABLE_TO_SCALE = "AbleToScale"
    SCALING_ACTIVE = "ScalingActive"
    SCALING_LIMITED = "ScalingLimited"
    SCALED_TO_ZERO = "ScaledToZero"


@dataclass(frozen=True, slots=True)
class Condition:
    """One aspect of an autoscaler's health."""

    type: ConditionType
    status: bool
    reason: str
    message: str
    last_transition: datetime
    """When `status` last changed."""


class EventType(StrEnum):
    """Kubernetes' event types."""

    NORMAL = "Normal"
    WARNING = "Warning"


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happened in this cycle, as `kubectl describe` would list it."""

    type: EventType
    reason: str
    message: str


@dataclass(frozen=True, slots=True)
class Step:
    """One stage of a decision: what it did to the number and why."""

    reason: str
    """HPA's reason word where it has one: ScaleDownStabilized, ScaleUpLimit, TooManyReplicas."""
    before: int
    after: int
    detail: str
    """The numbers behind it: "highest of 20 recommendations in 5m"."""


@dataclass(frozen=True, slots=True)
class MetricOutcome:
    """What one metric came to."""

    name: str
    type: MetricType
    target: MetricTarget
    value: Milli | None = None
    """Current value (Object, External with Value); None: not of this kind, or failed."""
    average_value: Milli | None = None
    """Current average per instance."""
    average_utilization: int | None = None
    """Whole percents of the requests."""
    ratio: float | None = None
    """The usage ratio that the proposal was made from; None when the metric failed."""
    proposal: int | None = None
    """Replicas that this metric alone asks for; None when it failed."""
    error: str | None = None
    detail: str = ""
    """How the proposal came about: "ratio x 3 ready", "ratio within tolerance"."""
    ready: int = 0
    """Units whose samples counted."""
    not_ready: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    ignored: tuple[str, ...] = ()
    unmatched: tuple[str, ...] = ()
    dropped: tuple[str, ...] = ()
    """These five name instances or samples, as `InstanceReading` and HPA's grouping define them."""
    more_unmatched: int = 0
    """How many more samples belong to no instance than `unmatched` names."""

    @property
    def failed(self) -> bool:
        """Whether there was no value."""
        return self.error is not None

    @property
    def current(self) -> int | None:
        """The value that is set against the target: whole percents for Utilization, else thousandths."""
        match self.target.type:
            case TargetType.UTILIZATION:
                return self.average_utilization
            case TargetType.AVERAGE_VALUE:
                return self.average_value
            case TargetType.VALUE:
                return self.value


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


@dataclass(frozen=True, slots=True)
class Proposed:
    """A dry run's outcome: what would have been written."""

    size: int


Outcome: TypeAlias = Written | Unchanged | Held | Conflict | Proposed | TargetError
"""What a write came to, as `act` reports it."""


@dataclass(frozen=True, slots=True)
class Decision:
    """One autoscaler's cycle. Complete after `decide.conclude`."""

    name: str
    target: TargetRef
    now: datetime
    dry_run: bool
    current: int | None
    """The size read; None: it could not be read."""
    desired: int | None
    """The size wanted; None: nothing could be decided."""
    change: ScaleChange | None
    """What is to be written; None: nothing."""
    conditions: tuple[Condition, ...]
    events: tuple[Event, ...]
    metrics: tuple[MetricOutcome, ...]
    trace: tuple[Step, ...]
    status: Status
    recommendations: tuple[Slot[Recommendation], ...] = ()
    """To remember, in order."""
    scale_ups: tuple[Slot[ScaleEvent], ...] = ()
    """To remember, in order."""
    scale_downs: tuple[Slot[ScaleEvent], ...] = ()
    scale_event: Slot[ScaleEvent] | None = None
    """The change's own, to remember once it is written; None: none is kept, or it is among the others already."""
    scaled_to_zero: bool | None = None
    """What the condition ScaledToZero becomes when the change is written; None: it stays as it is."""
    error: str | None = None
    """Why HPA's reconcile would have returned an error; a decision may still stand beside it."""
    outcome: Outcome | None = None
    """None: nothing was to be written."""
    warnings: tuple[str, ...] = field(default=())
    """The target's own, for the operator."""
    minimum: int | None = None
    """The bounds in force: where the configuration's, an operator's and the target's own meet."""
    maximum: int | None = None
    steering: Steering = Steering()
    """What operators have asked for, as far as it was in force."""

    @property
    def written(self) -> int | None:
        """The size that was written, if one was."""
        return self.outcome.size if isinstance(self.outcome, Written) else None
