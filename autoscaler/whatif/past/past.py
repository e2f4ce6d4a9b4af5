"""The past of an autoscaler as a sequence of cycles, and what is known to be missing or special in it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final, NamedTuple, Protocol

from autoscaler.model import Autoscaler, Decision, History, Observation
from autoscaler.quantity import format_duration

STATE: Final = "state"
"""The `origin` of a past that the daemon recorded."""
GAP: Final = 2.5
"""Sync periods from one cycle to the next: more is a gap."""


class FindingKind(StrEnum):
    """What is special about a part of the past."""

    GAP = "gap"
    """No cycle is known."""
    OUTAGE = "outage"
    """The target or a metric had no value."""
    RELOAD = "reload"
    """The configuration of the autoscaler changed."""
    VERSION = "version"
    """Another version of the autoscaler decided, whose rules may be others."""
    STEERING = "steering"
    """A pause or an override began or ended."""
    LIMITS = "limits"
    """The limits of the connection reduced a decision."""
    INFERRED = "inferred"
    """The values are from Prometheus, not recorded."""
    LOAD = "load"
    """A metric measures no load that is conserved, or may not show all of it."""
    UNKNOWN = "unknown"
    """A metric of a candidate was never queried."""
    DIFFERENCE = "difference"
    """A recorded decision is different when it is decided again."""


@dataclass(frozen=True, slots=True)
class Cycle:
    """One cycle of the past. `decision` and `history` are the daemon's; None where the state lacks them."""

    at: datetime
    observation: Observation
    scaler: Autoscaler
    """The configuration to whose metrics the readings belong: the daemon's at that time, if the state has the cycle."""
    decision: Decision | None = None
    history: History | None = None
    """What the daemon remembered before the cycle."""
    version: str | None = None
    """The daemon's; None: not known."""


class Replayed(NamedTuple):
    """A cycle of the past, decided by a candidate."""

    cycle: Cycle
    decision: Decision
    """With its outcome: every change is written."""
    sync_period: timedelta
    """The candidate's."""
    ready: int | None
    """How many of its replicas were ready after the decision; None: unknown."""


@dataclass(frozen=True, slots=True)
class Finding:
    """A part of the past that is incomplete, inferred or special."""

    begin: datetime
    end: datetime
    """Equal to `begin` if it has no length."""
    kind: FindingKind
    message: str
    """One sentence."""


def span(duration: timedelta) -> str:
    """A duration for people, in whole seconds, at least one: `10m15s`."""
    return format_duration(timedelta(seconds=max(1, round(duration.total_seconds()))))


class Past(Protocol):
    """The past of one autoscaler. Reading it may raise AutoscalerError at any time."""

    @property
    def name(self) -> str:
        """The name of the autoscaler."""

    @property
    def origin(self) -> str:
        """STATE or `prometheus NAME`."""

    @property
    def recorded(self) -> bool:
        """Whether a daemon recorded this past; else it comes from Prometheus."""

    def cycles(self) -> Iterator[Cycle]:
        """Yield the cycles in order of time. Each call reads them again, and keeps few of them in memory at once."""

    @property
    def findings(self) -> Sequence[Finding]:
        """What the source itself says of the past. Gaps and outages are not among them: MissingData finds these."""
