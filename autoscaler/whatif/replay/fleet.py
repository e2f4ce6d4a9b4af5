"""The instances that a candidate would have had: how many there are, and which of them are starting."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from autoscaler.model import Autoscaler, TargetState
from autoscaler.rules import plan_of, set_aside


@dataclass(frozen=True, slots=True)
class Starting:
    """Units of size that began at one time."""

    units: int
    """At least 1."""
    started_at: datetime
    ready_at: datetime
    """From then on they are ready."""


@dataclass(frozen=True, slots=True)
class Fleet:
    """Units of size. A new size is taken at once; what it grows by is ready one start-up time later."""

    size: int
    starting: tuple[Starting, ...] = ()
    """In order of time. Those that have been ready for long are left out, and instances older than the past are."""

    def ready(self, now: datetime) -> int:
        """How many units are ready."""
        return self.size - sum([each.units for each in self.starting if each.ready_at > now])

    def resized(self, size: int, now: datetime, start_up: timedelta) -> "Fleet":
        """The fleet with another size. The instances that started last leave first."""
        starting = self.starting
        if size > self.size:
            starting = (*starting, Starting(size - self.size, now, now + start_up))
        leaving = max(0, self.size - size)
        while leaving and starting and starting[-1].ready_at > now:
            last = starting[-1]
            gone = min(leaving, last.units)
            leaving -= gone
            starting = (*starting[:-1], replace(last, units=last.units - gone)) if gone < last.units else starting[:-1]
        return Fleet(size, _within(starting, size))

    def without_old(self, scaler: Autoscaler, state: TargetState, now: datetime) -> "Fleet":
        """The fleet without the times of instances that no longer affect how their samples count."""
        if not self.starting:
            return self
        aside = set_aside(plan_of(scaler.rules), state, now).span
        begins = scaler.options.cpu_initialization_period
        kept = tuple([each for each in self.starting if each.ready_at + aside > now or each.started_at + begins > now])
        return self if kept == self.starting else replace(self, starting=kept)


def _within(starting: Sequence[Starting], size: int) -> tuple[Starting, ...]:
    """As many as `size` has room for. Among ready instances, the oldest leave first."""
    kept = list[Starting]()
    for each in reversed(starting):
        units = min(each.units, size)
        if units:
            kept.append(each if units == each.units else replace(each, units=units))
        size -= units
    return tuple(reversed(kept))
