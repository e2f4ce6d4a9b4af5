"""The brake `loss`: many instances are gone at once, so there is no scale-in."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from msgspec import Struct

from autoscaler.fields.types import PositiveDuration
from autoscaler.model import Direction, Phase, TargetState
from autoscaler.quantity import format_duration
from autoscaler.rules.brakes.common import MIN_MISSING, Brake, BrakeRule, Percent, heaviest
from autoscaler.rules.rule import Cycle
from autoscaler.times import time_text

if TYPE_CHECKING:
    from autoscaler.rules.brakes import BrakeMemory


class InstanceLoss(Struct, frozen=True, gc=False):
    """Instances were gone from one cycle to the next. Counts are units of size."""

    at: datetime
    lost: int
    of: int


@dataclass(frozen=True, slots=True)
class LossBrake(BrakeRule):
    """Stops scale-in after many instances disappeared at once."""

    brake = Brake.LOSS
    reason = "InstancesLost"
    end = "the brake loss has ended: the size may fall again"

    percent: Percent = 30
    """Applies when at least this share of the instances, and at least 3, disappears from one cycle to the next."""
    hold: PositiveDuration = timedelta(minutes=5)
    """How long scale-in is stopped."""

    @property
    def text(self) -> str:
        """Return its effect in words."""
        hold = format_duration(self.hold)
        return f"no scale-in for {hold} after {self.percent} % or more of the instances were gone at once"

    def follow(self, before: "BrakeMemory", cycle: Cycle) -> Mapping[str, object]:
        """Return how many instances run, and the loss that is held after."""
        state, now, known = cycle.state, cycle.now, before.running
        loss = before.loss if before.loss is not None and now - before.loss.at < self.hold else None
        if state is None:
            return {"running": known, "heaviest": before.heaviest, "loss": loss}
        running, weight = min(_running(state), state.replicas), heaviest(state)
        if known is not None and state.hold.scale_in is None:  # else the target itself replaces instances
            of = min(known, state.replicas)  # the rest is expected to leave, however long that takes
            lost = of - running
            if lost >= MIN_MISSING * max(before.heaviest, weight) and 100 * lost >= self.percent * of:
                loss = InstanceLoss(now, lost, of)
        return {"running": running, "heaviest": weight, "loss": loss}

    @staticmethod
    def cause(memory: "BrakeMemory") -> InstanceLoss | None:
        """Return the loss."""
        return memory.loss

    def said(self, cause: InstanceLoss, cycle: Cycle) -> tuple[str, Direction]:
        """Return what was lost, and until when the size does not fall."""
        gone = f"{cause.lost} of {cause.of} running units were gone at {time_text(cause.at)} without a scale-in"
        end = f"so the size does not fall until {time_text(cause.at + self.hold)}"
        return f"{gone}; their load is invisible until clients reconnect, {end}", Direction.IN


def _running(state: TargetState) -> int:
    """Units that run, ready or not. Without a list of instances, all units that exist."""
    if not state.instances:
        return state.status_replicas
    return sum([each.weight for each in state.instances if each.phase is Phase.RUNNING and not each.deleting])
