"""The brake `loss`: many instances are gone at once, so there is no scale-in."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final, NamedTuple

from msgspec import Struct

from autoscaler.fields.part import Part
from autoscaler.fields.types import PositiveDuration
from autoscaler.model import Phase, TargetState
from autoscaler.quantity import format_duration
from autoscaler.rules.brakes.common import MIN_MISSING, Percent, heaviest, time_text

REASON: Final = "InstancesLost"
"""Of the condition AbleToScale and of events."""
END: Final = "the brake loss has ended: the size may fall again"
"""Message of the event when it ends."""


@dataclass(frozen=True, slots=True)
class LossBrake(Part):
    """Stops scale-in after many instances disappeared at once."""

    percent: Percent = 30
    """Applies when at least this share of the instances, and at least 3, disappears from one cycle to the next."""
    hold: PositiveDuration = timedelta(minutes=5)
    """How long scale-in is stopped."""

    @property
    def text(self) -> str:
        """Return its effect in words."""
        hold = format_duration(self.hold)
        return f"no scale-in for {hold} after {self.percent} % or more of the instances were gone at once"


class InstanceLoss(Struct, frozen=True, gc=False):
    """Instances were gone from one cycle to the next. Counts are units of size."""

    at: datetime
    lost: int
    of: int


class LossMemory(NamedTuple):
    """What the brake remembers, as in BrakeMemory."""

    running: int | None = None
    heaviest: int = 1
    loss: InstanceLoss | None = None


def follow(rule: LossBrake, before: LossMemory, state: TargetState | None, now: datetime) -> LossMemory:
    """Return what the brake remembers after the target's state. `before`: what it remembered."""
    loss = before.loss if before.loss is not None and now - before.loss.at < rule.hold else None
    if state is None:
        return LossMemory(before.running, before.heaviest, loss)
    running, weight = min(_running(state), state.replicas), heaviest(state)
    if before.running is None or state.hold.scale_in is not None:  # the target itself replaces instances
        return LossMemory(running, weight, loss)
    of = min(before.running, state.replicas)  # the rest is expected to leave, however long that takes
    lost = of - running
    if lost >= MIN_MISSING * max(before.heaviest, weight) and 100 * lost >= rule.percent * of:
        loss = InstanceLoss(now, lost, of)
    return LossMemory(running, weight, loss)


def _running(state: TargetState) -> int:
    """Units that run, ready or not. Without a list of instances, all units that exist."""
    if not state.instances:
        return state.status_replicas
    return sum([each.weight for each in state.instances if each.phase is Phase.RUNNING and not each.deleting])


def message(rule: LossBrake, loss: InstanceLoss) -> str:
    """Return why the brake is on."""
    return (
        f"{loss.lost} of {loss.of} running units were gone at {time_text(loss.at)} without a scale-in; their load "
        f"is invisible until clients reconnect, so the size does not fall until {time_text(loss.at + rule.hold)}"
    )
