"""The pause and the override of an autoscaler."""

from datetime import datetime

from autoscaler.document import Document
from autoscaler.model import Direction
from autoscaler.times import format_until


class PauseDocument(Document):
    """A pause: no size is written in a direction."""

    direction: Direction
    by: str
    reason: str
    since: datetime
    until: datetime | None
    """null: until it is resumed."""

    @property
    def text(self) -> str:
        """Return what is paused, by whom, until when and why."""
        what = "paused" if self.direction is Direction.BOTH else f"scaling {self.direction} paused"
        return f"{what} by {self.by} {format_until(self.until)}: {self.reason or 'no reason given'}"


class OverrideDocument(Document):
    """An override: bounds in place of the configuration's; null: the configuration's."""

    minimum: int | None
    maximum: int | None
    by: str
    reason: str
    since: datetime
    until: datetime | None


class SteeringDocument(Document):
    """The pause and the override in force; null: none."""

    pause: PauseDocument | None
    override: OverrideDocument | None
