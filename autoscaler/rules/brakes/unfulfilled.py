"""The brake `unfulfilled`: many of the requested instances do not arrive, so the size grows no further."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from msgspec import Struct

from autoscaler.fields.types import PositiveDuration
from autoscaler.model import Direction, TargetState
from autoscaler.quantity import format_duration
from autoscaler.rules.brakes.common import MIN_MISSING, Brake, BrakeRule, Percent, heaviest
from autoscaler.rules.rule import Cycle
from autoscaler.times import time_text

if TYPE_CHECKING:
    from autoscaler.rules.brakes import BrakeMemory


class Shortfall(Struct, frozen=True, gc=False):
    """More is missing of what is asked for than the brake allows. Counts are units of size."""

    since: datetime
    """When it began, or last made progress: more existed than ever since it began."""
    most: int
    """How many existed at once, at most, since it began."""
    missing: int
    """How many did not exist when the target was last read."""
    asked: int
    """Of so many."""
    stalled: bool
    """Whether there was no progress for the progress deadline: the brake is on."""


@dataclass(frozen=True, slots=True)
class UnfulfilledBrake(BrakeRule):
    """Stops scale-out while many of the requested instances do not start."""

    brake = Brake.UNFULFILLED
    reason = "Unfulfilled"
    end = "the brake unfulfilled has ended: the size may grow again"

    percent: Percent = 30
    """Applies when more than this share of the size is missing, and at least 3 instances."""
    progress_deadline: PositiveDuration = timedelta(minutes=10)
    """How long the number of instances must not have reached a new high."""

    @property
    def text(self) -> str:
        """Return its effect in words."""
        span = format_duration(self.progress_deadline)
        return f"no scale-out after more than {self.percent} % was missing for {span} without progress"

    def follow(self, before: "BrakeMemory", cycle: Cycle) -> Mapping[str, object]:
        """Return the shortfall of the target's state."""
        state = cycle.state
        return {"shortfall": before.shortfall if state is None else self._shortfall(before.shortfall, state, cycle.now)}

    def _shortfall(self, known: Shortfall | None, state: TargetState, now: datetime) -> Shortfall | None:
        asked, there = state.replicas, state.status_replicas
        missing = asked - there
        if missing < MIN_MISSING * heaviest(state) or 100 * missing <= self.percent * asked:
            return None
        if known is None or there > known.most:
            return Shortfall(now, there, missing, asked, stalled=False)
        return Shortfall(known.since, known.most, missing, asked, stalled=now - known.since > self.progress_deadline)

    @staticmethod
    def cause(memory: "BrakeMemory") -> Shortfall | None:
        """Return the shortfall, once it has lasted for `progress_deadline` without progress; None: it has not."""
        return memory.shortfall if memory.shortfall is not None and memory.shortfall.stalled else None

    @staticmethod
    def is_same(before: Shortfall, after: Shortfall) -> bool:
        """Return True: a shortfall ends before another one begins."""
        return True

    def said(self, cause: Shortfall, cycle: Cycle) -> tuple[str, Direction]:
        """Return what is missing, and until when the size does not grow."""
        missing = f"{cause.missing} of {cause.asked} that were asked for have not arrived"
        most = f"since {time_text(cause.since)} there were never more than {cause.most}"
        return f"{missing}, and {most}; the size does not grow until more arrive", Direction.OUT
