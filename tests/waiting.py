"""Waits for a state, with a deadline that a busy machine keeps."""

import time
from collections.abc import Callable
from typing import Final, TypeVar

PATIENCE_SECONDS: Final = 120.0
_FIRST_PAUSE_SECONDS: Final = 0.001
_Seen = TypeVar("_Seen")


def until(
    look: Callable[[], _Seen],
    what: str | Callable[[], str] = "the condition",
    within_seconds: float = PATIENCE_SECONDS,
    every_seconds: float = 0.05,
) -> _Seen:
    """Wait until `look` returns a true value, and return it. Raises AssertionError after `within_seconds`.

    It looks often at first, and at last every `every_seconds`: most states are there within milliseconds.

    `what`: what is waited for; a function of it is called only for the error.
    """
    end, pause = time.monotonic() + within_seconds, _FIRST_PAUSE_SECONDS
    while not (seen := look()):
        assert time.monotonic() < end, f"{what if isinstance(what, str) else what()}: not within {within_seconds:g} s"
        time.sleep(pause := min(2 * pause, every_seconds))
    return seen
