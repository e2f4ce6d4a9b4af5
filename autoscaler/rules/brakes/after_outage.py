"""The brake `afterOutage`: all metrics failed for long, so there is no scale-in until windows know the load again."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from msgspec import Struct

from autoscaler.hpa.stabilization import down_window
from autoscaler.model import Direction
from autoscaler.rules.brakes.common import Brake, BrakeRule
from autoscaler.rules.rule import Cycle
from autoscaler.times import time_text

if TYPE_CHECKING:
    from autoscaler.rules.brakes import BrakeMemory


class Outage(Struct, frozen=True, gc=False):
    """All metrics failed."""

    since: datetime
    """The last cycle before it, whose recommendation is the last that windows remember."""
    returned: datetime | None = None
    """Since when one has had a value again; None: all fail."""
    long: bool = False
    """Whether a scale-down window has passed since, so that it has forgotten the load: the brake is on."""


@dataclass(frozen=True, slots=True)
class AfterOutageBrake(BrakeRule):
    """Stops scale-in after all metrics had no value for a whole scale-down window."""

    brake = Brake.AFTER_OUTAGE
    reason = "MetricsReturned"
    end = "the brake afterOutage has ended: the size may fall again"
    text = "no scale-in after all metrics had no value for a scaleDown window, until one had a value for as long"

    def follow(self, before: "BrakeMemory", cycle: Cycle) -> Mapping[str, object]:
        """Return the outage as it was; `measured` tells more."""
        return {"outage": before.outage}

    def measured(self, known: Outage | None, cycle: Cycle, *, fails: bool) -> Outage | None:
        """Return the outage after a cycle that measured. `fails`: all metrics do."""
        window, now = down_window(cycle.scaler), cycle.now
        if known is None:
            if not fails:
                return None
            known = Outage(cycle.history.at or now)
        long = known.long or timedelta(0) < window <= now - known.since  # without a window, nothing is forgotten
        if fails:
            return Outage(known.since, None, long)
        returned = known.returned or now
        return Outage(known.since, returned, long) if long and now - returned < window else None

    @staticmethod
    def cause(memory: "BrakeMemory") -> Outage | None:
        """Return the outage that lasted for a window."""
        return memory.outage if memory.outage is not None and memory.outage.long else None

    @staticmethod
    def is_same(before: Outage, after: Outage) -> bool:
        """Return whether they began at the same time."""
        return before.since == after.since

    def said(self, cause: Outage, cycle: Cycle) -> tuple[str, Direction]:
        """Return since when no metric had a value, and until when the size does not fall."""
        end = "a scale-down window after a metric has a value again"
        if cause.returned is not None:
            end = time_text(cause.returned + down_window(cycle.scaler))
        return f"no metric had a value after {time_text(cause.since)}; the size does not fall until {end}", Direction.IN
