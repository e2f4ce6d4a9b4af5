"""The brake `unfulfilled`: many of the requested instances do not arrive, so the size grows no further."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from msgspec import Struct

from autoscaler.fields.part import Part
from autoscaler.fields.types import PositiveDuration
from autoscaler.model import TargetState
from autoscaler.quantity import format_duration
from autoscaler.rules.brakes.common import MIN_MISSING, Percent, heaviest, time_text

REASON: Final = "Unfulfilled"
"""Of the condition AbleToScale and of events."""
END: Final = "the brake unfulfilled has ended: the size may grow again"
"""Message of the event when it ends."""


@dataclass(frozen=True, slots=True)
class UnfulfilledBrake(Part):
    """Stops scale-out while many of the requested instances do not start."""

    percent: Percent = 30
    """Applies when more than this share of the size is missing, and at least 3 instances."""
    progress_deadline: PositiveDuration = timedelta(minutes=10)
    """How long the number of instances must not have reached a new high."""

    @property
    def text(self) -> str:
        """Return its effect in words."""
        span = format_duration(self.progress_deadline)
        return f"no scale-out after more than {self.percent} % was missing for {span} without progress"


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


def follow(
    rule: UnfulfilledBrake, known: Shortfall | None, state: TargetState | None, now: datetime
) -> Shortfall | None:
    """Return the shortfall of the target's state; None: nothing is short. `known`: that of the last cycle."""
    if state is None:
        return known
    asked, there = state.replicas, state.status_replicas
    missing = asked - there
    if missing < MIN_MISSING * heaviest(state) or 100 * missing <= rule.percent * asked:
        return None
    if known is None or there > known.most:
        return Shortfall(now, there, missing, asked, stalled=False)
    return Shortfall(known.since, known.most, missing, asked, stalled=now - known.since > rule.progress_deadline)


def message(short: Shortfall) -> str:
    """Return why the brake is on."""
    return (
        f"{short.missing} of {short.asked} that were asked for have not arrived, and since "
        f"{time_text(short.since)} there were never more than {short.most}; the size does not grow until more "
        "arrive"
    )
