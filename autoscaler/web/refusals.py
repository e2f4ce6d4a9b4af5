"""Logs frequent refusals once a minute."""

from typing import Any, Final

from autoscaler.clock import Clock
from autoscaler.logger import Logger

_QUIET_SECONDS: Final = 60.0
"""Seconds between two lines."""


class Refusals:
    """Counts one kind of refusal. The log key `refused` has the number since the last line."""

    def __init__(self, event: str, clock: Clock, logger: Logger) -> None:
        self._event = event
        self._clock = clock
        self._logger = logger
        self._refused = 0
        self._quiet_until = 0.0

    def count(self, **keys: Any) -> None:
        """Count a refusal. `keys`: for the log, if this one is logged."""
        self._refused += 1
        now = self._clock.monotonic()
        if now >= self._quiet_until:
            self._logger.warning(self._event, refused=self._refused, **keys)
            self._refused, self._quiet_until = 0, now + _QUIET_SECONDS
