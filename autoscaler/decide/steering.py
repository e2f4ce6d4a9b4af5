"""Events for operators' pauses and overrides, and for their end."""

from collections.abc import Iterator
from datetime import datetime

from autoscaler.model import Direction, Event, EventType, History, HoldReason, ManualControls, Override, Pause, Reason
from autoscaler.times import format_until


def paused(pause: Pause) -> Event:
    """Return the event of a pause."""
    what = "scaling" if pause.direction is Direction.BOTH else f"scaling {pause.direction}"
    return _event(Reason.PAUSED, f"{pause.by} paused {what} {format_until(pause.until)}", pause.reason)


def paused_hold(pause: Pause | None, *, out: bool) -> HoldReason | None:
    """Return why a pause prevents a change of size in this direction, or None if it does not."""
    if pause is None or pause.direction is (Direction.IN if out else Direction.OUT):
        return None
    why = pause.reason or "no reason given"
    return HoldReason(Reason.PAUSED, f"paused by {pause.by} {format_until(pause.until)}: {why}")


def overridden(override: Override) -> Event:
    """Return the event of an override of the bounds."""
    bounds = (("min", override.minimum), ("max", override.maximum))
    what = ", ".join(f"{word} {bound}" for word, bound in bounds if bound is not None)
    return _event(Reason.OVERRIDDEN, f"{override.by} set {what} {format_until(override.until)}", override.reason)


def resumed(before: ManualControls, after: ManualControls, by: str, reason: str) -> Event | None:
    """Return the event of a resume, or None if nothing was in force."""
    pairs = (("pause", before.pause, after.pause), ("override", before.override, after.override))
    gone = " and ".join(f"the {what}" for what, was, stays in pairs if was is not None and stays is None)
    return _event(Reason.RESUMED, f"{by} ended {gone}", reason) if gone else None


def ended(history: History, now: datetime) -> Iterator[Event]:
    """Yield an event for each pause or override that expired since the last decision."""
    last, asked = history.at, history.steering
    for reason, what, request in (
        (Reason.PAUSE_ENDED, "pause", asked.pause),
        (Reason.OVERRIDE_ENDED, "override", asked.override),
    ):
        if last is not None and request is not None and request.until is not None and last < request.until <= now:
            end = request.until.isoformat(timespec="seconds")
            yield _event(reason, f"the {what} by {request.by} ended by itself at {end}", request.reason)


def _event(reason: Reason, message: str, why: str) -> Event:
    return Event(EventType.NORMAL, reason, f"{message}: {why or 'no reason given'}")
