"""Manual controls: an operator's pause holds a direction, and an override gives other bounds.

They are input, and no memory: a table of the state has them, and `History.manual` those of this autoscaler.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from autoscaler.model import Bound, Direction, Event, EventType, History, ManualControls, Override, Pause
from autoscaler.rules.rule import SILENCE, Cycle, Hold, Rule, Said
from autoscaler.times import format_until, time_text

PAUSED: Final = "Paused"
"""Of the condition AbleToScale and of an event: an operator holds the direction."""
OVERRIDDEN: Final = "Overridden"
"""Of an event: an operator set other bounds."""
RESUMED: Final = "Resumed"
"""Of an event: an operator ended a pause, an override, or both."""
PAUSE_ENDED: Final = "PauseEnded"
"""Of an event: its time was over."""
OVERRIDE_ENDED: Final = "OverrideEnded"
"""Of an event: its time was over."""


@dataclass(frozen=True, slots=True)
class Manual(Rule):
    """What operators ask for while the daemon runs."""

    name = "manual"
    by_default = True

    def follow(self, cycle: Cycle, memory: None) -> Said:
        """Return the bounds of an override, the hold of a pause, and an event for each that expired."""
        history = cycle.history
        if history.manual.pause is None and history.manual.override is None:
            return SILENCE
        asked = history.manual.at(cycle.now)
        minimum, maximum = bounds_of(asked.override)
        hold = self.hold(asked)
        holds = () if hold is None else (hold,)
        return Said(None, tuple(_ended(history, cycle.now)), minimum=minimum, maximum=maximum, holds=holds)

    @staticmethod
    def bounds(memory: None, manual: ManualControls) -> tuple[Bound | None, Bound | None]:
        """Return the bounds of an override."""
        return bounds_of(manual.override)

    @staticmethod
    def hold(manual: ManualControls) -> Hold | None:
        """Return the hold of a pause."""
        pause = manual.pause
        return None if pause is None else Hold(PAUSED, pause.text, pause.direction, first=True)


def bounds_of(override: Override | None) -> tuple[Bound | None, Bound | None]:
    """Return the minimum and the maximum of an override; None: it sets none."""
    if override is None:
        return None, None
    low, high = override.minimum, override.maximum
    return (
        None if low is None else Bound(low, f"the minimum set by {override.by}", Manual.name),
        None if high is None else Bound(high, f"the maximum set by {override.by}", Manual.name),
    )


def paused(pause: Pause) -> Event:
    """Return the event of a pause."""
    what = "scaling" if pause.direction is Direction.BOTH else f"scaling {pause.direction}"
    return _event(PAUSED, f"{pause.by} paused {what} {format_until(pause.until)}", pause.reason)


def overridden(override: Override) -> Event:
    """Return the event of an override of the bounds."""
    return _event(OVERRIDDEN, f"{override.by} set {override.bounds} {format_until(override.until)}", override.reason)


def resumed(before: ManualControls, after: ManualControls, by: str, reason: str) -> Event | None:
    """Return the event of a resume, or None if nothing was in force."""
    pairs = (("pause", before.pause, after.pause), ("override", before.override, after.override))
    gone = " and ".join(f"the {what}" for what, was, stays in pairs if was is not None and stays is None)
    return _event(RESUMED, f"{by} ended {gone}", reason) if gone else None


def _ended(history: History, now: datetime) -> Iterator[Event]:
    """Yield an event for each pause or override that expired since the last decision."""
    last, asked = history.at, history.manual
    for reason, what, request in (
        (PAUSE_ENDED, "pause", asked.pause),
        (OVERRIDE_ENDED, "override", asked.override),
    ):
        if last is not None and request is not None and request.until is not None and last < request.until <= now:
            end = time_text(request.until)
            yield _event(reason, f"the {what} by {request.by} ended by itself at {end}", request.reason)


def _event(reason: str, message: str, why: str) -> Event:
    return Event(EventType.NORMAL, reason, f"{message}: {why or 'no reason given'}")
