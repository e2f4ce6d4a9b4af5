"""How long instances take to become ready and to end, and the source of each time."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from statistics import median
from typing import Final

from autoscaler.documents.base import Seconds
from autoscaler.foresee.shadow_comparison import GAP
from autoscaler.model import Instance, Phase, TargetState
from autoscaler.whatif.past.past import Cycle


class TimeSource(StrEnum):
    """Where a time comes from."""

    GIVEN = "given"
    """An option of the command."""
    INSTANCES = "instances"
    """The median of the instances in the state."""
    CONFIGURATION = "configuration"
    """`controller.startUpSeconds`."""
    NOTHING = "nothing"
    """No instance was observed, so the time is 0."""


@dataclass(frozen=True, slots=True)
class InstanceTime:
    """A time that instances take."""

    seconds: Seconds
    source: TimeSource


NONE_SEEN: Final = InstanceTime(timedelta(0), TimeSource.NOTHING)


class Terminations:
    """Takes each cycle in order, and measures how long instances that leave take to be gone or failed.

    It uses the daemon's own cycles only, and nothing across a gap.
    """

    def __init__(self) -> None:
        self._before: tuple[Instance, ...] = ()
        """The instances of the cycle before; empty if unknown."""
        self._at: datetime | None = None
        self._leaving: dict[str, datetime] = {}
        """Instances that were observed before they left: name -> the first cycle in which they were leaving."""
        self._seconds: Final = list[float]()

    def used(self, given: timedelta | None) -> InstanceTime:
        """The termination time to use: `given`, else the median of those measured, else 0."""
        if given is not None:
            return InstanceTime(given, TimeSource.GIVEN)
        if not self._seconds:
            return NONE_SEEN
        return InstanceTime(timedelta(seconds=median(self._seconds)), TimeSource.INSTANCES)

    def add(self, cycle: Cycle) -> None:
        """Take the next cycle."""
        state, since, self._at = cycle.observation.target, self._at, cycle.at
        if cycle.decision is None or not isinstance(state, TargetState):
            self._before, self._leaving = (), {}
            return
        if since is None or not timedelta(0) < cycle.at - since <= GAP * cycle.scaler.sync_period:
            self._before, self._leaving = (), {}  # when an instance left is unknown
        there = [each for each in state.instances if each.phase is not Phase.FAILED]
        if self._leaving or any(each.deleting for each in there):
            self._follow(there, cycle.at)
        self._before = state.instances

    def _follow(self, there: Sequence[Instance], now: datetime) -> None:
        names = {each.name for each in there}
        self._seconds.extend([(now - at).total_seconds() for name, at in self._leaving.items() if name not in names])
        staying = {each.name for each in self._before if not each.deleting}
        leaving = [each.name for each in there if each.deleting]
        self._leaving = {
            name: self._leaving.get(name, now) for name in leaving if name in self._leaving or name in staying
        }
