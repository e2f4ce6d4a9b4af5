"""One attempt of a drain's action."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from autoscaler.model import AwaitingDrain, Call


class Attempt(NamedTuple):
    """The result of an attempt."""

    done: bool
    """Whether the instance is drained; else the next attempt follows after a pause."""
    detail: str = ""
    """One line that stays the same while nothing changes; empty: nothing is to be said."""


@dataclass(frozen=True, slots=True)
class ActionContext:
    """What an action is handed for one attempt."""

    waiting: AwaitingDrain
    call: Call
    """Of an attempt that makes requests: its deadline."""
    seconds_left: float
    """Until the drain's timeout."""
    go_on: Callable[[], bool]
    """To be asked every second by an attempt that lasts longer: whether it may go on. It keeps the instance waiting."""
