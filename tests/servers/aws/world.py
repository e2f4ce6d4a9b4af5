"""The cloud behind the API, as a test sets it: its time, and the starts of its machines."""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta


def _nothing(instance_id: str) -> None:
    """Ignore an instance."""


@dataclass(slots=True)
class World:
    """The settings that all groups of a server share."""

    steered: datetime | None = None
    """The time, if a test sets it; None: the machine's."""
    launch_seconds: float = 0
    """From the launch to the end of Pending."""
    terminate_seconds: float = 0
    refresh_seconds: float = 3600
    lag_seconds: float = 0
    """The age of the sizes in answers to DescribeAutoScalingGroups."""
    launch_failure: str | None = None
    """Why launches fail; None: they succeed."""
    retry_seconds: float = 10
    """The time between two failing launches."""
    on_launch: Callable[[str], None] = field(default=_nothing)
    on_end: Callable[[str], None] = field(default=_nothing)
    """Called with the instance's id."""

    @property
    def now(self) -> datetime:
        """Return the time, aware, in UTC."""
        return self.steered or datetime.now(UTC)

    def advance(self, seconds: float) -> None:
        """Advance the time. From now on it passes only by this call."""
        self.steered = self.now + timedelta(seconds=seconds)
