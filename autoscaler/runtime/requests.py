"""What other threads ask of the main thread."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from queue import Empty, SimpleQueue
from typing import Final

_LOOK_SECONDS: Final = 0.1
"""How often a thread that waits for its answer checks whether it is to give up."""


class Order:
    """Something that was asked for over HTTP."""

    def __init__(self) -> None:
        self.answer: Final[SimpleQueue[Sequence[str]]] = SimpleQueue()
        """What was wrong."""

    def wait(self, gives_up: Callable[[], bool]) -> Sequence[str] | None:
        """Return the answer; None if the thread is to give up first."""
        while not gives_up():
            with suppress(Empty):
                return self.answer.get(timeout=_LOOK_SECONDS)
        return None


class Reload(Order):
    """Follow the configuration."""


class Resign(Order):
    """Let another daemon lead."""
