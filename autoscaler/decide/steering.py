"""Events of what operators ask: who, what, why and until when; and that a pause or an override ended by itself."""

from collections.abc import Iterator
from datetime import datetime

from autoscaler.model import Direction, Event, EventType, History, Override, Pause, Reason, Steering


def until_words(until: datetime | None) -> str:
    """How long something is in force: `until it is resumed`, `until 2026-05-04T14:00:00+00:00`."""
    return "until it is resumed" if until is None else f"until {until.isoformat(timespec='seconds')}"


def paused(pause: Pause) -> Event:
    """An operator paused it."""
    what = "scaling" if pause.direction is Direction.BOTH else f"scaling {pause.direction}"
    return _event(Reason.PAUSED, f"{pause.by} paused {what} {until_words(pause.until)}", pause.reason)


def overridden(override: Override) -> Event:
    """An operator set other bounds."""
    bounds = (("min", override.minimum), ("max", override.maximum))
    what = ", ".join(f"{word} {bound}" for word, bound in bounds if bound is not None)
    return _event(Reason.OVERRIDDEN, f"{override.by} set {what} {until_words(override.until)}", override.reason)


def resumed(before: Steering, after: Steering, by: str, reason: str) -> Event | None:
    """An operator ended what was in force; None: nothing was."""
    pairs = (("pause", before.pause, after.pause), ("override", before.override, after.override))
    gone = " and ".join(f"the {what}" for what, was, stays in pairs if was is not None and stays is None)
    return _event(Reason.RESUMED, f"{by} ended {gone}", reason) if gone else None


def ended(history: History, now: datetime) -> Iterator[Event]:
    """What ended by itself since the last decision."""
    last, asked = history.at, history.steering
    for reason, what, given in (
        (Reason.PAUSE_ENDED, "pause", asked.pause),
        (Reason.OVERRIDE_ENDED, "override", asked.override),
    ):
        if last is not None and given is not None and given.until is not None and last < given.until <= now:
            end = given.until.isoformat(timespec="seconds")
            yield _event(reason, f"the {what} by {given.by} ended by itself at {end}", given.reason)


def _event(reason: Reason, message: str, why: str) -> Event:
    return Event(EventType.NORMAL, reason, f"{message}: {why or 'no reason given'}")
