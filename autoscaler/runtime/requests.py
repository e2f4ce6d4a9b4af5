"""What other threads ask of the main thread."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from queue import Empty, SimpleQueue
from typing import Final, Generic, TypeVar

from autoscaler.config.settings import Settings

_T = TypeVar("_T")
_LOOK_SECONDS: Final = 0.1
"""How often a thread that waits for its answer checks whether it is to give up."""


class Request(Generic[_T]):
    """A request, and its answer."""

    def __init__(self) -> None:
        self.answer: Final[SimpleQueue[_T]] = SimpleQueue()

    def wait(self, gives_up: Callable[[], bool]) -> _T | None:
        """Return the answer; None if the thread is to give up first."""
        while not gives_up():
            with suppress(Empty):
                return self.answer.get(timeout=_LOOK_SECONDS)
        return None


class Reload(Request[Sequence[str]]):
    """A reload that was asked for over HTTP; the answer is what was wrong."""


class NewFiles(Request[bool]):
    """Files of teams have changed. The answer: whether the daemon follows them, or need not."""

    def __init__(self, before: Settings, after: Settings) -> None:
        """`before`: the settings that were in force. `after`: those to follow."""
        super().__init__()
        self.before: Final = before
        self.after: Final = after


class Moved:
    """Other shards are held than before."""
