"""The past as a row of cycles, whichever source it is read from."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final, Protocol

from autoscaler.model import Autoscaler, Decision, History, Observation
from autoscaler.quantity import format_duration

STATE: Final = "state"
"""The `origin` of a past that the daemon recorded itself."""


class FindingKind(StrEnum):
    """What makes a part of the past less than what a daemon saw, or other than the cycles around it."""

    GAP = "gap"
    """No cycle is known."""
    OUTAGE = "outage"
    """The target, or a metric, had no value."""
    RESTART = "restart"
    """The daemon was started again."""
    RELOAD = "reload"
    """The autoscaler was configured anew."""
    STEERING = "steering"
    """What operators asked for changed: a pause, an override, the end of one."""
    CLOCK = "clock"
    """The wall clock was set."""
    MEMORY = "memory"
    """What was remembered is not what follows from the cycle before."""
    LIMITS = "limits"
    """What the autoscalers of a connection share cut a decision."""
    INFERRED = "inferred"
    """What was not recorded, and is taken from Prometheus."""
    LOAD = "load"
    """What a metric tells of the load, and whether that is conserved."""
    UNKNOWN = "unknown"
    """What a candidate asks for was not seen then, or what it would have been is not known."""
    DIFFERENCE = "difference"
    """A cycle that is decided otherwise than it was recorded."""


@dataclass(frozen=True, slots=True)
class Moment:
    """One cycle of the past as it was seen.

    `decision`, `history` and `scaler` are the daemon's own, where the state has them.
    """

    at: datetime
    observation: Observation
    decision: Decision | None = None
    history: History | None = None
    """What was remembered before it."""
    scaler: Autoscaler | None = None
    """As it was configured then: what the observation's readings are of. None: they are of the candidate's metrics."""


@dataclass(frozen=True, slots=True)
class Finding:
    """A part of the past to know of."""

    begin: datetime
    end: datetime
    """The same as `begin`, for what has no length."""
    kind: FindingKind
    message: str
    """One sentence."""


def span(duration: timedelta) -> str:
    """A length of time for readers, in whole seconds, at least one: `10m15s`."""
    return format_duration(timedelta(seconds=max(1, round(duration.total_seconds()))))


class Past(Protocol):
    """One autoscaler's past. What it is read from may raise AutoscalerError at any moment."""

    @property
    def name(self) -> str:
        """The autoscaler's."""

    @property
    def origin(self) -> str:
        """STATE, or `prometheus NAME`."""

    def moments(self) -> Iterator[Moment]:
        """Its cycles in order of time, read anew at each call; as few of them at once in memory as can be."""

    @property
    def findings(self) -> Sequence[Finding]:
        """In order of time; complete once the moments were read to their end."""
