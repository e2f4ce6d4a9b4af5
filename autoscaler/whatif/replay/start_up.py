"""How long instances take to become ready, and the source of this time."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final

from autoscaler.documents.base import Seconds
from autoscaler.model import TargetState
from autoscaler.whatif.past.past import Cycle

LONGEST: Final = timedelta(minutes=15)
"""An instance that took longer to become ready was unready in between, and its time is ignored."""
DEFAULT: Final = timedelta(seconds=60)


class TimeSource(StrEnum):
    """Where a time comes from."""

    INSTANCES = "instances"
    """The median of the instances in the state."""
    GIVEN = "given"
    """An option of the command."""
    DEFAULT = "default"
    """No instance has shown it, and it was not given."""


@dataclass(frozen=True, slots=True)
class InstanceTime:
    """A time that instances take."""

    seconds: Seconds
    source: TimeSource


UNKNOWN_TIME: Final = InstanceTime(DEFAULT, TimeSource.DEFAULT)


class StartUps:
    """Takes each recorded cycle in order, and measures how long instances took from their start to their readiness."""

    def __init__(self) -> None:
        self._begin: datetime | None = None
        self._times: dict[tuple[str, datetime], timedelta] = {}
        """By instance: its name and its start."""

    def add(self, cycle: Cycle) -> None:
        """Take the next cycle."""
        self._begin = self._begin or cycle.at
        state = cycle.observation.target
        if not isinstance(state, TargetState):
            return
        for each in state.instances:
            started, turned = each.started_at, each.ready_transition
            if each.ready and not each.deleting and started is not None and turned is not None:
                took = max(turned - started, timedelta(0))
                if took <= LONGEST:
                    self._times.setdefault((each.name, started), took)

    def used(self, given: timedelta | None) -> InstanceTime:
        """The time to use: what the instances show, else `given`, else DEFAULT.

        Instances that started in the record take precedence: of older ones, the daemon may have seen the readiness long
        after it began.
        """
        fresh = [took for (_, started), took in self._times.items() if self._begin and started >= self._begin]
        if known := fresh or list(self._times.values()):
            return InstanceTime(_median(known), TimeSource.INSTANCES)
        return UNKNOWN_TIME if given is None else InstanceTime(given, TimeSource.GIVEN)


def _median(times: Sequence[timedelta]) -> timedelta:
    """The middle value; the longer of the two for an even number."""
    return sorted(times)[len(times) // 2]
