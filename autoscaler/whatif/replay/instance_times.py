"""How long instances take to be ready and to be gone, and what tells it."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from statistics import median
from typing import Final

from autoscaler.documents.base import Seconds
from autoscaler.foresee.shadow_comparison import GAP
from autoscaler.model import Instance, Phase, TargetState
from autoscaler.whatif.past.past import Moment
from autoscaler.whatif.replay.course import StartUp


class TimeSource(StrEnum):
    """What tells a time."""

    GIVEN = "given"
    """An option of the command."""
    INSTANCES = "instances"
    """Instances that were seen: the median."""
    CONFIGURATION = "configuration"
    """`controller.startUpSeconds`."""
    NOTHING = "nothing"
    """Nothing was seen, so it is taken to be 0."""


@dataclass(frozen=True, slots=True)
class InstanceTime:
    """A time that instances take."""

    seconds: Seconds
    source: TimeSource


NONE_SEEN: Final = InstanceTime(timedelta(0), TimeSource.NOTHING)


class Terminations:
    """Looks at each moment on its way for instances that are on their way out, and then gone or failed.

    Only the daemon's own cycles count. Nothing is learnt of an instance across a time that is not known.
    """

    def __init__(self) -> None:
        self._before: tuple[Instance, ...] = ()
        """The instances of the cycle before; empty: not known."""
        self._at: datetime | None = None
        self._leaving: dict[str, datetime] = {}
        """Those that were seen before they left: name -> the first cycle in which they were on their way out."""
        self._seconds: Final = list[float]()

    @property
    def learnt(self) -> timedelta | None:
        """From the first cycle in which one was on its way out to the first without it: the median; None: none was."""
        return timedelta(seconds=median(self._seconds)) if self._seconds else None

    def see(self, moment: Moment) -> None:
        """One more moment."""
        state, since, self._at = moment.observation.target, self._at, moment.at
        if moment.scaler is None or not isinstance(state, TargetState):
            self._forget()
            return
        if since is None or not timedelta(0) < moment.at - since <= GAP * moment.scaler.sync_period:
            self._forget()  # when an instance left meanwhile is not known
        there = [each for each in state.instances if each.phase is not Phase.FAILED]
        if self._leaving or any(each.deleting for each in there):
            self._follow(there, moment.at)
        self._before = state.instances

    def _forget(self) -> None:
        self._before, self._leaving = (), {}

    def _follow(self, there: Sequence[Instance], now: datetime) -> None:
        names = {each.name for each in there}
        self._seconds.extend([(now - at).total_seconds() for name, at in self._leaving.items() if name not in names])
        staying = {each.name for each in self._before if not each.deleting}
        leaving = [each.name for each in there if each.deleting]
        self._leaving = {
            name: self._leaving.get(name, now) for name in leaving if name in self._leaving or name in staying
        }


def termination_of(given: timedelta | None, seen: timedelta | None) -> InstanceTime:
    """The termination time to use: what is given, else what the daemon saw, else 0."""
    if given is not None:
        return InstanceTime(given, TimeSource.GIVEN)
    return NONE_SEEN if seen is None else InstanceTime(seen, TimeSource.INSTANCES)


def start_up_used(last: StartUp | None, given: timedelta | None) -> InstanceTime | None:
    """What tells the start-up time that a candidate's shadow had in the `last` cycle of its course; None: it had none.

    `given`: what it began with, in place of the configuration's.
    """
    if last is None:
        return None
    if last.learnt:
        return InstanceTime(last.length, TimeSource.INSTANCES)
    return InstanceTime(last.length, TimeSource.CONFIGURATION if given is None else TimeSource.GIVEN)
