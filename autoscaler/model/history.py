"""What an autoscaler remembers from one cycle to the next."""

from datetime import datetime, timedelta

from msgspec import Struct
from msgspec.structs import replace

from autoscaler.model.brake import BrakeMemory
from autoscaler.model.condition import Condition
from autoscaler.model.metric import MetricFailure, MetricOutcome
from autoscaler.model.shadow import Shadow
from autoscaler.model.steering import Steering


class Recommendation(Struct, frozen=True, gc=False):
    """A size that the metrics asked for, before stabilization."""

    replicas: int
    at: datetime


class ScaleEvent(Struct, frozen=True, gc=False):
    """A size change that was written; `change` > 0 in both directions."""

    change: int
    at: datetime


class Status(Struct, frozen=True, gc=False):
    """HPA's status after a step; a failed read or write leaves it as it was."""

    current: int = 0
    desired: int = 0
    metrics: tuple[MetricOutcome, ...] = ()


class Intent(Struct, frozen=True, gc=False):
    """A write that was announced and whose outcome is unknown: it had no answer, or the daemon died before one came."""

    size: int
    decided_from: int
    at: datetime
    scaled_to_zero: bool | None = None
    """What the condition ScaledToZero becomes if it arrived; None: it stays as it is."""
    earlier: "Intent | None" = None
    """One that was announced before it, with another size, and may still arrive as well."""

    @property
    def and_earlier(self) -> "tuple[Intent, ...]":
        """It and those before it, the newest first."""
        return (self,) if self.earlier is None else (self, *self.earlier.and_earlier)

    def moved(self, by: timedelta) -> "Intent":
        """The same with its time later by this much."""
        earlier = None if self.earlier is None else self.earlier.moved(by)
        return replace(self, at=self.at + by, earlier=earlier)


class History(Struct, frozen=True, gc=False):
    """Everything a decision remembers. `decide.remember` says what is kept of it for how long."""

    recommendations: tuple[Recommendation, ...] = ()
    """In order of time; only those that a window can still be decided by."""
    scale_ups: tuple[ScaleEvent, ...] = ()
    """In the controller's order: a new event stands where it replaced an outdated one, else at the end."""
    scale_downs: tuple[ScaleEvent, ...] = ()
    """In the same order."""
    conditions: tuple[Condition, ...] = ()
    status: Status = Status()
    unfinished: Intent | None = None
    steering: Steering = Steering()
    at: datetime | None = None
    """Of the last decision; None: there was none."""
    failing: tuple[MetricFailure, ...] = ()
    """The metrics with a fallback that had no value in it."""
    brakes: BrakeMemory | None = None
    """None: there were no brakes."""
    shadow: Shadow | None = None
    """Of a dry run that has one; conditions and scale events are then the shadow's."""

    def moved(self, by: timedelta) -> "History":
        """The same with every time later by this much: after the wall clock was set, everything keeps its age.

        What operators asked for ends at the wall clock's time that they were told.
        """
        intent = self.unfinished
        return replace(
            self,
            recommendations=tuple([replace(each, at=each.at + by) for each in self.recommendations]),
            scale_ups=tuple([replace(each, at=each.at + by) for each in self.scale_ups]),
            scale_downs=tuple([replace(each, at=each.at + by) for each in self.scale_downs]),
            conditions=tuple([replace(each, last_transition=each.last_transition + by) for each in self.conditions]),
            unfinished=None if intent is None else intent.moved(by),
            at=None if self.at is None else self.at + by,
            failing=tuple([each.moved(by) for each in self.failing]),
            brakes=None if self.brakes is None else self.brakes.moved(by),
            shadow=None if self.shadow is None else self.shadow.moved(by),
        )
