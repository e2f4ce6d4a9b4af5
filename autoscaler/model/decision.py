"""What one cycle decided, and why."""

from datetime import datetime, timedelta
from enum import StrEnum
from typing import TypeAlias

from msgspec import Struct, field

from autoscaler.errors import TargetError
from autoscaler.model.brake import ActiveBrake, BrakeMemory
from autoscaler.model.condition import Condition
from autoscaler.model.deployment import DeploymentMemory
from autoscaler.model.drain import Drain
from autoscaler.model.history import Recommendation, ScaleEvent, Status
from autoscaler.model.metric import MetricFailure, MetricOutcome
from autoscaler.model.reason import Reason
from autoscaler.model.schedule import OpenEntry
from autoscaler.model.steering import Direction, ManualControls
from autoscaler.model.target import Conflict, Held, ScaleChange, TargetRef, Unchanged, Written


class EventType(StrEnum):
    """Kubernetes' event types."""

    NORMAL = "Normal"
    WARNING = "Warning"


class Event(Struct, frozen=True, gc=False, omit_defaults=True):
    """Something that happened in this cycle, as `kubectl describe` would list it."""

    type: EventType
    reason: str
    """A `Reason`."""
    message: str
    direction: Direction | None = None
    """Of a change of size, also of one that failed or is a dry run's: OUT or IN; None: it is of another kind."""


class Step(Struct, frozen=True, gc=False):
    """One stage of a decision: what it did to the number and why."""

    reason: str
    """A `Reason`, or an adapter's own word for a hold."""
    before: int
    after: int
    detail: str
    """The numbers behind it: "highest of 20 recommendations in 5m"."""


class Proposed(Struct, frozen=True, gc=False):
    """A dry run's outcome: what would have been written."""

    size: int


Outcome: TypeAlias = Written | Unchanged | Held | Conflict | Proposed | TargetError
"""What a write came to, as `act` reports it."""


class Decision(Struct, frozen=True):
    """One autoscaler's cycle. Complete after `decide.apply_outcome`."""

    name: str
    target: TargetRef
    now: datetime
    dry_run: bool
    current: int | None
    """The target's size; None: it could not be read."""
    desired: int | None
    """The size wanted; None: nothing could be decided."""
    change: ScaleChange | None
    """What is to be written; None: nothing."""
    conditions: tuple[Condition, ...]
    events: tuple[Event, ...]
    metrics: tuple[MetricOutcome, ...]
    trace: tuple[Step, ...]
    status: Status
    recommendations: tuple[Recommendation, ...] = ()
    """To remember, in order."""
    scale_ups: tuple[ScaleEvent, ...] = ()
    """To remember, in order."""
    scale_downs: tuple[ScaleEvent, ...] = ()
    """To remember, in order."""
    scale_event: ScaleEvent | None = None
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
    """The bounds in force: of the configuration, its schedules, an operator and the target."""
    maximum: int | None = None
    steering: ManualControls = ManualControls()
    """What operators have asked for, as far as it was in force."""
    ready: int | None = None
    """Units of the size read that were ready; None: that is not known."""
    failing: tuple[MetricFailure, ...] = ()
    """To remember: the metrics with a fallback that have no value."""
    brakes: tuple[ActiveBrake, ...] = ()
    """Those that are on, in the order in which they give the reason for a hold."""
    brake_memory: BrakeMemory | None = None
    """To remember; None: there are no brakes."""
    schedules: tuple[OpenEntry, ...] = ()
    """The entries of schedules that were open and counted."""
    deployments: DeploymentMemory | None = None
    """To remember; None: no deployment has set the size."""
    drains: tuple[Drain, ...] = ()
    """To remember: of the instances that wait to be let go, and of those just gone."""

    @property
    def idle(self) -> bool:
        """Whether the target was idle, or would have been but for a hold."""
        return any(step.reason == Reason.IDLE for step in self.trace)

    @property
    def drain_ages(self) -> tuple[timedelta, ...]:
        """How long each drain has been under way."""
        return tuple([self.now - each.began for each in self.drains if each.ended is None])

    @property
    def written(self) -> int | None:
        """The size that was written, if one was."""
        return self.outcome.size if isinstance(self.outcome, Written) else None
