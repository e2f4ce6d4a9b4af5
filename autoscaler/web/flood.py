"""What comes in masses is logged twice: when it begins, and when it is over."""

from typing import Any, Final

from autoscaler.clock import Clock
from autoscaler.logger import Logger

_QUIET_SECONDS: Final = 10.0
"""Without another one until it is over."""


class Flood:
    """Counts one kind of refusal."""

    def __init__(self, event: str, clock: Clock, logger: Logger) -> None:
        """`event`: what it is called in the log, with `_began` and `_ended` after it."""
        self._event = event
        self._clock = clock
        self._logger = logger
        self.refused = 0
        """Since it began."""
        self._began = self._last = 0.0

    def count(self, number: int = 1, **keys: Any) -> None:
        """So many more were refused. `keys`: for the log, should it begin with these."""
        self._last = self._clock.monotonic()
        if not self.refused:
            self._began = self._last
            self._logger.warning(f"{self._event}_began", **keys)
        self.refused += number

    def look(self) -> None:
        """To be called every second or so: logs that it is over when there was none for a while."""
        if self.refused and self._clock.monotonic() - self._last >= _QUIET_SECONDS:
            self._logger.info(f"{self._event}_ended", refused=self.refused, seconds=round(self._last - self._began))
            self.refused = 0
