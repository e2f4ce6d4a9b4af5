"""What a brake is, and what several of them need."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import fields
from datetime import timedelta
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Final, TypeAlias

from pydantic import Field, Strict

from autoscaler.fields.part import Part
from autoscaler.model import Direction, TargetState
from autoscaler.rules.rule import Cycle

if TYPE_CHECKING:
    from autoscaler.rules.brakes import BrakeMemory

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


class BrakeRule(Part, ABC):
    """One brake: its settings as fields, and what it makes of a cycle. It keeps nothing but its part of the memory."""

    __slots__ = ()
    brake: ClassVar[Brake]
    reason: ClassVar[str]
    """Of the condition AbleToScale and of events."""
    end: ClassVar[str]
    """Message of the event when it ends."""

    @property
    @abstractmethod
    def text(self) -> str:
        """Return its effect in words."""

    @property
    def times(self) -> Iterable[timedelta]:
        """How long it waits or holds: its settings that are durations."""
        values = [getattr(self, each.name) for each in fields(self)]
        return [each for each in values if isinstance(each, timedelta)]

    @abstractmethod
    def follow(self, before: "BrakeMemory", cycle: Cycle) -> Mapping[str, object]:
        """Return what it remembers after the target's state: its own fields of the memory. Others have defaults."""

    @staticmethod
    @abstractmethod
    def cause(memory: "BrakeMemory") -> Any:
        """Return why it is on; None: it is off."""

    @staticmethod
    def is_same(before: Any, after: Any) -> bool:
        """Return whether two causes are the same. Another cause starts the brake again, which is an event."""
        return bool(before == after)

    @abstractmethod
    def said(self, cause: Any, cycle: Cycle) -> tuple[str, Direction]:
        """Return why it is on in words, and the direction of the changes that it prevents."""


def heaviest(state: TargetState) -> int:
    """Return the largest weight among a target's instances; 1: none is listed."""
    return max([each.weight for each in state.instances], default=1)
