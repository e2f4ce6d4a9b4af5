"""The sizes of one candidate over time, or of the target itself, in arrays, from which measures are made.

A week at 15 s is 40,320 cycles, whose decisions would take gigabytes.
"""

from array import array
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final

from autoscaler.model import TargetState
from autoscaler.whatif.past.past import Cycle, Replayed
from autoscaler.whatif.replay.demand import maximum_of

AS_IT_WAS: Final = "as it was"
"""The label of the target's own course."""
UNKNOWN: Final = -1
"""An unknown number of replicas."""


@dataclass(slots=True)
class Course:
    """One candidate over time, or the target itself. The arrays have one item for each cycle, in order."""

    label: str = AS_IT_WAS
    """The name of the candidate."""
    sync_period: timedelta = timedelta(0)
    """Of the last cycle."""
    at: "array[float]" = field(default_factory=lambda: array("d"))
    """POSIX seconds, rising."""
    size: "array[int]" = field(default_factory=lambda: array("l"))
    """The size at the beginning of the cycle. UNKNOWN if the target was not read."""
    ready: "array[int]" = field(default_factory=lambda: array("l"))
    """How many replicas were ready, without those that the cycle removed. UNKNOWN if they were not read."""
    maximum: "array[int]" = field(default_factory=lambda: array("l"))
    """The upper bound in force. UNKNOWN if the target was not read."""

    def add(
        self, at: datetime, sync_period: timedelta, size: int | None, ready: int | None, maximum: int | None
    ) -> None:
        """Add a cycle. None: unknown. One that is not later than the last is left out: the clock was set back."""
        self.sync_period = sync_period
        if self.at and at.timestamp() <= self.at[-1]:
            return
        self.at.append(at.timestamp())
        for numbers, number in ((self.size, size), (self.ready, ready), (self.maximum, maximum)):
            numbers.append(UNKNOWN if number is None else number)

    def add_seen(self, cycle: Cycle) -> None:
        """Add what the cycle saw of the target."""
        state = cycle.observation.target
        if not isinstance(state, TargetState):
            self.add(cycle.at, cycle.scaler.sync_period, None, None, None)
            return
        ready, written = state.ready, None if cycle.decision is None else cycle.decision.written
        if ready is not None and written is not None:
            ready = min(ready, written)  # replicas that leave do so at once
        self.add(cycle.at, cycle.scaler.sync_period, state.replicas, ready, maximum_of(cycle, state))

    def add_replayed(self, replayed: Replayed) -> None:
        """Add a cycle that a candidate decided."""
        made = replayed.decision
        self.add(made.now, replayed.sync_period, made.current, replayed.ready, made.maximum)

    def add_unknown(self, cycle: Cycle) -> None:
        """Add a cycle of which nothing is known."""
        self.add(cycle.at, cycle.scaler.sync_period, None, None, None)
