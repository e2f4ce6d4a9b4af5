"""Keeps a failure of one part of the main thread's work from the other parts."""

from collections.abc import Callable
from typing import Final, TypeVar

from autoscaler.clock import Clock
from autoscaler.errors import message_of
from autoscaler.logger import Logger
from autoscaler.threads import Stopping

_T = TypeVar("_T")
_AGAIN_SECONDS: Final = 600.0
"""A failure that lasts is logged again after this time."""


class Barrier:
    """Used by the main thread. A part that fails is tried again at its next turn."""

    def __init__(self, clock: Clock, logger: Logger) -> None:
        self._clock = clock
        self._logger = logger
        self._failing: dict[str, tuple[str, float]] = {}
        """Part -> the error that was logged last, and when."""

    def run(self, part: str, work: Callable[[], _T], otherwise: _T) -> _T:
        """Return the work's result; `otherwise` if it fails. Raises Stopping."""
        try:
            done = work()
        except Stopping:
            raise
        except Exception as error:  # noqa: BLE001 - after a bug or a damaged row, too, the rest of the daemon goes on
            self._failed(part, message_of(error))
        else:
            self._failing.pop(part, None)
            return done
        return otherwise

    def _failed(self, part: str, error: str) -> None:
        now = self._clock.monotonic()
        before, at = self._failing.get(part, ("", now))
        if error != before or now - at >= _AGAIN_SECONDS:
            self._failing[part] = error, now
            self._logger.error("part_failed", part=part, error=error)
