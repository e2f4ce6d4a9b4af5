"""Reads that no size depends on. A cycle goes on without them."""

from collections.abc import Callable
from dataclasses import replace

from autoscaler.target import Call, Clock, Logger, TargetError


class OptionalReads:
    """Runs them within a part of the remaining time, so that the targets' states are returned in time."""

    def __init__(self, clock: Clock, logger: Logger) -> None:
        self._clock = clock
        self._logger = logger
        self._failing: dict[str, str] = {}
        """What fails -> class of its last logged error."""

    def run(self, what: str, read: Callable[[Call], None], call: Call) -> None:
        """Run one read within half of the remaining time. A failure is logged; a later cycle asks again."""
        now = self._clock.monotonic()
        try:
            read(replace(call, deadline=now + (call.deadline - now) / 2))
        except TargetError as error:
            if self._failing.get(what) != type(error).__name__:
                self._logger.warning("aws_request_failed", about=what, error=str(error))
            self._failing[what] = type(error).__name__
        else:
            self._failing.pop(what, None)
