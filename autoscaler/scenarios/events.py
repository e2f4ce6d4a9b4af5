"""What happens in a scenario, apart from the daemon's cycles."""

import re
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Final

from msgspec.structs import replace

from autoscaler.model import Event as ModelEvent
from autoscaler.model import ManualControls, Override, Pause
from autoscaler.quantity import parse_duration
from autoscaler.record.state import State
from autoscaler.rules.manual import overridden, paused, resumed
from autoscaler.scenarios.file import Event

_BY: Final = "the test"
_STEP: Final = re.compile(r"([-+])(.+)")


def clock_step(text: str) -> timedelta:
    """Return by how much a clock is set. Raises ValueError."""
    found = _STEP.fullmatch(text)
    if found is None:
        raise ValueError(f"{text[:64]!r} is not a step; write one as in +10m or -1h")
    step = parse_duration(found[2])
    if step > timedelta(days=366):
        raise ValueError(f"{text[:64]} is too long; write at most a year")
    return step if found[1] == "+" else -step


def steer(state: State, event: Event, now: datetime) -> None:
    """Keep what an operator asks of an autoscaler, as the daemon's API does."""
    until = None if event.lasts is None else now + event.lasts

    def change(known: Mapping[str, ManualControls]) -> Mapping[str, ManualControls]:
        before = known.get(event.subject, ManualControls()).at(now)
        if event.pause is not None:
            return {event.pause: replace(before, pause=Pause(event.direction, _BY, "", now, until))}
        if event.override is not None:
            bounds = Override(event.min_replicas, event.max_replicas, _BY, "", now, until)
            return {event.override: replace(before, override=bounds)}
        return {event.subject: ManualControls()}

    def told(before: ManualControls, after: ManualControls) -> ModelEvent | None:
        if event.pause is not None and after.pause is not None:
            return paused(after.pause)
        if event.override is not None and after.override is not None:
            return overridden(after.override)
        return resumed(before, after, _BY, "")

    state.change_steering(change, told, now)
