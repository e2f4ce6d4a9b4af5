"""What a test decides of the cloud behind the API: its time, and how well its machines start."""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta


def _nothing(instance_id: str) -> None:
    """Nobody wants to know."""


@dataclass(slots=True)
class World:
    """Shared by all groups of a server."""

    steered: datetime | None = None
    """The time, where a test steers it; None: the machine's."""
    launch_seconds: float = 0
    """From the launch to the end of Pending."""
    terminate_seconds: float = 0
    refresh_seconds: float = 3600
    lag_seconds: float = 0
    """How old the sizes are that DescribeAutoScalingGroups reports."""
    launch_failure: str | None = None
    """Why no launch succeeds; None: they do."""
    retry_seconds: float = 10
    """Between two launches that fail."""
    on_launch: Callable[[str], None] = field(default=_nothing)
    on_end: Callable[[str], None] = field(default=_nothing)
    """Called with the instance's id."""

    @property
    def now(self) -> datetime:
        """Aware, UTC."""
        return self.steered or datetime.now(UTC)

    def advance(self, seconds: float) -> None:
        """Let time pass, from now on only so."""
        self.steered = self.now + timedelta(seconds=seconds)
