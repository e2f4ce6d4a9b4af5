"""What an autoscaler remembers from one cycle to the next."""

from datetime import datetime

from msgspec import Struct

from autoscaler.model.condition import Condition
from autoscaler.model.metric import MetricOutcome
from autoscaler.model.rule import NO_MEMORIES, Memories
from autoscaler.model.steering import ManualControls


class Recommendation(Struct, frozen=True, gc=False, array_like=True):
    """A size that the metrics asked for, before stabilization."""

    replicas: int
    at: datetime


class ScaleEvent(Struct, frozen=True, gc=False, array_like=True):
    """A size change that was written; `change` > 0 in both directions."""

    change: int
    at: datetime


class Status(Struct, frozen=True, gc=False, array_like=True):
    """HPA's status after a step; a failed read or write leaves it as it was."""

    current: int = 0
    desired: int = 0
    metrics: tuple[MetricOutcome, ...] = ()


class PendingWrite(Struct, frozen=True, gc=False, array_like=True):
    """A write that was announced and whose outcome is unknown: it had no answer, or the daemon died before one came."""

    size: int
    decided_from: int
    at: datetime
    scaled_to_zero: bool | None = None
    """What the condition ScaledToZero becomes if it arrived; None: it stays as it is."""
    earlier: "PendingWrite | None" = None
    """One that was announced before it, with another size, and may still arrive as well."""

    @property
    def and_earlier(self) -> "tuple[PendingWrite, ...]":
        """It and those before it, the newest first."""
        return (self,) if self.earlier is None else (self, *self.earlier.and_earlier)


class HpaMemory(Struct, frozen=True, gc=False):
    """What HPA itself remembers. `autoscaler.hpa.memory` says what is kept of it for how long."""

    recommendations: tuple[Recommendation, ...] = ()
    """In order of time; only those that a window can still be decided by."""
    scale_ups: tuple[ScaleEvent, ...] = ()
    """In the controller's order: a new event stands where it replaced an outdated one, else at the end."""
    scale_downs: tuple[ScaleEvent, ...] = ()
    """In the same order."""
    conditions: tuple[Condition, ...] = ()
    status: Status = Status()


class History(Struct, frozen=True, gc=False):
    """Everything a decision remembers, and what operators have asked for."""

    hpa: HpaMemory = HpaMemory()
    pending: PendingWrite | None = None
    manual: ManualControls = ManualControls()
    at: datetime | None = None
    """Of the last decision; None: there was none."""
    warnings: tuple[str, ...] = ()
    """Of the target, when it was last read."""
    rules: Memories = NO_MEMORIES
