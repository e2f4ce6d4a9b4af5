"""What operators do to an autoscaler while it runs: hold it in a direction, or give it other bounds for a time."""

from datetime import datetime
from enum import StrEnum

from msgspec import Struct

from autoscaler.times import format_until


class Direction(StrEnum):
    """Which way a size moves, or may not move."""

    OUT = "out"
    IN = "in"
    BOTH = "both"


class Pause(Struct, frozen=True, gc=False, array_like=True):
    """Nothing is written in a direction; decisions are still made and shown."""

    direction: Direction
    by: str
    """Who asked for it."""
    reason: str
    since: datetime
    until: datetime | None
    """When it ends by itself; None: only by `resume`."""

    @property
    def text(self) -> str:
        """What is paused, by whom, until when and why."""
        what = "paused" if self.direction is Direction.BOTH else f"scaling {self.direction} paused"
        return f"{what} by {self.by} {format_until(self.until)}: {self.reason or 'no reason given'}"


class Override(Struct, frozen=True, gc=False, array_like=True):
    """Bounds in place of the configuration's; None: the configuration's own."""

    minimum: int | None
    maximum: int | None
    by: str
    reason: str
    since: datetime
    until: datetime | None

    @property
    def bounds(self) -> str:
        """The bounds that it sets: `min 2, max 8`."""
        words = (("min", self.minimum), ("max", self.maximum))
        return ", ".join(f"{word} {bound}" for word, bound in words if bound is not None)


class ManualControls(Struct, frozen=True, gc=False, array_like=True):
    """All that operators have asked of one autoscaler."""

    pause: Pause | None = None
    override: Override | None = None

    def at(self, now: datetime) -> "ManualControls":
        """What of it is in force."""
        pause, override = self.pause, self.override
        if pause is None and override is None:
            return self
        return ManualControls(
            pause if pause is not None and (pause.until is None or now < pause.until) else None,
            override if override is not None and (override.until is None or now < override.until) else None,
        )
