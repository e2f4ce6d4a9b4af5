"""Values that the record returns, besides those of the model."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime

from autoscaler.model import Autoscaler, Decision, Direction, EventType, History, Observation


@dataclass(frozen=True, slots=True)
class Record:
    """One recorded cycle of an autoscaler.

    Within `state.detail` `decide(scaler, observation, history, decision.now)` gives the decision again, except for a
    cut by its connection's limits, which a step of its trace shows. The condition ScalingLimited of the cycle after
    a cut can differ, too.
    """

    scaler: Autoscaler
    decision: Decision
    observation: Observation | None
    """None: the cycle is older than `state.detail`."""
    history: History | None
    """The history before the cycle; None: the cycle is older than `state.detail`."""
    version: str | None = field(default=None, compare=False)
    """Of the package that decided; None: not known, or the cycle is older than `state.detail`."""


@dataclass(frozen=True, slots=True)
class EventRow:
    """Equal events of one autoscaler, counted: `x5 over 96s`."""

    name: str
    """The autoscaler's."""
    type: EventType
    reason: str
    message: str
    count: int
    first: datetime
    last: datetime
    dry_run: bool
    direction: Direction | None = None


@dataclass(frozen=True, slots=True)
class Cut:
    """A deletion because of `state.maxSize`."""

    tier: str
    """`detail`, or `history`: events, and decisions with a change."""
    until: datetime
    """Everything of this tier before this time is deleted."""
    at: datetime
    """Time of the last deletion."""


@dataclass(frozen=True, slots=True)
class StateSize:
    """The size of the state."""

    bytes: int
    """On disk."""
    cuts: Sequence[Cut] = ()
