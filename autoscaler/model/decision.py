"""What one cycle decided, and why."""

from datetime import datetime
from enum import StrEnum
from typing import TypeAlias

from msgspec import Struct

from autoscaler.errors import TargetError
from autoscaler.model.bounds import Bounds
from autoscaler.model.condition import Condition
from autoscaler.model.history import Recommendation, ScaleEvent, Status
from autoscaler.model.metric import MetricOutcome
from autoscaler.model.rule import NO_MEMORIES, Memories
from autoscaler.model.steering import Direction, ManualControls
from autoscaler.model.target import Conflict, Held, ScaleChange, TargetRef, Unchanged, Written


class EventType(StrEnum):
    """Kubernetes' event types."""

    NORMAL = "Normal"
    WARNING = "Warning"


class Event(Struct, frozen=True, gc=False, array_like=True, omit_defaults=True):
    """Something that happened in this cycle, as `kubectl describe` would list it."""

    type: EventType
    reason: str
    """A `Reason`."""
    message: str
    direction: Direction | None = None
    """Of a change of size, also of one that failed or is a dry run's: OUT or IN; None: it is of another kind."""


class Step(Struct, frozen=True, gc=False, array_like=True):
    """One stage of a decision: what it did to the number and why."""

    source: str
    """HPA, TARGET, a rule's name, or LIMITS."""
    reason: str
    """A word: HPA's, the rule's, or an adapter's for a hold."""
    before: int
    after: int
    detail: str
    """The numbers behind it: "highest of 20 recommendations in 5m"."""


class Proposed(Struct, frozen=True, gc=False):
    """A dry run's outcome: what would have been written."""

    size: int


Outcome: TypeAlias = Written | Unchanged | Held | Conflict | Proposed | TargetError
"""What a write came to, as `act` reports it."""


class Remembered(Struct, frozen=True, gc=False):
    """What the next cycle remembers of a decision, beside its conditions."""

    status: Status = Status()
    recommendations: tuple[Recommendation, ...] = ()
    """New ones, in order."""
    scale_ups: tuple[ScaleEvent, ...] = ()
    """New ones, in order."""
    scale_downs: tuple[ScaleEvent, ...] = ()
    """New ones, in order."""
    scale_event: ScaleEvent | None = None
    """The change's own, once it is written; None: none is kept, or it is among the others already."""
    scaled_to_zero: bool | None = None
    """What the condition ScaledToZero becomes when the change is written; None: it stays as it is."""
    rules: Memories = NO_MEMORIES
    """All that the rules remember next."""


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
    remembered: Remembered
    error: str | None = None
    """Why HPA's reconcile would have returned an error; a decision may still stand beside it."""
    outcome: Outcome | None = None
    """None: nothing was to be written."""
    warnings: tuple[str, ...] = ()
    """The target's own, for the operator."""
    bounds: Bounds | None = None
    """Those in force: of the configuration, its rules and the target. None: the target could not be read."""
    manual: ManualControls = ManualControls()
    """What operators have asked for, as far as it was in force."""
    ready: int | None = None
    """Units of the size read that were ready; None: that is not known."""

    @property
    def minimum(self) -> int | None:
        """The minimum in force."""
        return None if self.bounds is None else self.bounds.minimum.size

    @property
    def maximum(self) -> int | None:
        """The maximum in force."""
        return None if self.bounds is None else self.bounds.maximum.size

    @property
    def written(self) -> int | None:
        """The size that was written, if one was."""
        return self.outcome.size if isinstance(self.outcome, Written) else None
