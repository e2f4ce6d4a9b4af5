"""How long instances take to become ready, and the source of this time."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final

from autoscaler.document import Seconds
from autoscaler.model import Instance, TargetState
from autoscaler.whatif.past.past import Cycle

MAX_START_UP: Final = timedelta(minutes=15)
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
    """Takes each recorded cycle in order, and measures how long instances took to become ready.

    The time is from the decision that asked for an instance, or from its start if no decision of the record did.
    """

    def __init__(self) -> None:
        self._begin: datetime | None = None
        self._asked: datetime | None = None
        """When the last scale-out was decided."""
        self._awaited = 0
        """Units of it that were not seen yet."""
        self._from: dict[tuple[str, datetime], datetime] = {}
        """By instance, its name and its start: the time from which its readiness is measured."""
        self._times: dict[tuple[str, datetime], timedelta] = {}

    def add(self, cycle: Cycle) -> None:
        """Take the next cycle."""
        self._begin = self._begin or cycle.at
        state, made = cycle.observation.target, cycle.decision
        if isinstance(state, TargetState):
            for each in state.instances:
                if each.started_at is not None and not each.deleting:
                    self._add(each, each.started_at)
        if made is not None and made.written is not None and made.current is not None:
            self._asked, self._awaited = made.now, max(0, made.written - made.current)

    def _add(self, one: Instance, started: datetime) -> None:
        key, turned = (one.name, started), one.ready_transition
        if key not in self._from:
            asked = self._asked if self._awaited > 0 else None
            is_asked_for = asked is not None and started >= asked
            self._from[key] = asked if asked is not None and is_asked_for else started
            self._awaited -= one.weight if is_asked_for else 0
        if one.ready and turned is not None and key not in self._times:
            took = max(turned - self._from[key], timedelta(0))
            if took <= MAX_START_UP:
                self._times[key] = took

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
