"""What several brakes need."""

from datetime import datetime
from enum import StrEnum
from typing import Annotated, Final, TypeAlias

from pydantic import Field, Strict

from autoscaler.model import TargetState

MIN_MISSING: Final = 3
"""Fewest missing or lost instances that a brake acts on. Fewer are no outage, whatever their share."""

Percent: TypeAlias = Annotated[int, Strict(), Field(ge=1, le=100)]


class Brake(StrEnum):
    """The brakes, as the configuration calls them."""

    UNFULFILLED = "unfulfilled"
    """Much of what was asked for does not arrive: grow no further."""
    LOSS = "loss"
    """Many instances are gone at once: no scale-in."""
    OUTSIDE_CHANGE = "outsideChange"
    """Somebody else set the size: leave it for a while."""
    AFTER_OUTAGE = "afterOutage"
    """All metrics failed for long, and windows have forgotten the load: no scale-in for a window."""


def heaviest(state: TargetState) -> int:
    """Return the largest weight among a target's instances; 1: none is listed."""
    return max([each.weight for each in state.instances], default=1)


def time_text(at: datetime) -> str:
    """Return a time as messages show it: ISO 8601, to the second."""
    return at.isoformat(timespec="seconds")
