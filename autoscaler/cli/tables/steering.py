"""Texts about pauses and overrides."""

from collections.abc import Mapping
from datetime import datetime
from typing import Final

from autoscaler.model import Direction
from autoscaler.quantity import format_age
from autoscaler.view.steering import OverrideDocument, PauseDocument

_SCOPES: Final[Mapping[Direction, str]] = {
    Direction.IN: "scaling in",
    Direction.OUT: "scaling out",
    Direction.BOTH: "scaling",
}


def scope(pause: PauseDocument) -> str:
    """Return what a pause stops: `scaling in`, `scaling`."""
    return _SCOPES[pause.direction]


def asked(given: PauseDocument | OverrideDocument, now: datetime) -> str:
    """Return who asked, for how long and why."""
    end = "until it is resumed" if given.until is None else f"for another {format_age(given.until - now)}"
    return f"by {given.by}, {end}" + (f": {given.reason}" if given.reason else "")
