"""The pause and the override of an autoscaler."""

from datetime import datetime

from autoscaler.document import Document
from autoscaler.model import Direction, Override, Pause


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
        return Pause(self.direction, self.by, self.reason, self.since, self.until).text


class OverrideDocument(Document):
    """An override: bounds in place of the configuration's; null: the configuration's."""

    minimum: int | None
    maximum: int | None
    by: str
    reason: str
    since: datetime
    until: datetime | None

    @property
    def bounds(self) -> str:
        """Return the bounds: `min 2, max 8`."""
        return Override(self.minimum, self.maximum, self.by, self.reason, self.since, self.until).bounds


class SteeringDocument(Document):
    """The pause and the override in force; null: none."""

    pause: PauseDocument | None
    override: OverrideDocument | None
