"""What operators have asked of an autoscaler, as it is shown."""

from datetime import datetime

from autoscaler.documents.base import Document
from autoscaler.model import Direction


class PauseDocument(Document):
    """Nothing is written in a direction."""

    direction: Direction
    by: str
    reason: str
    since: datetime
    until: datetime | None
    """null: until it is resumed."""


class OverrideDocument(Document):
    """Bounds in place of the configuration's; null: the configuration's own."""

    minimum: int | None
    maximum: int | None
    by: str
    reason: str
    since: datetime
    until: datetime | None


class SteeringDocument(Document):
    """What operators have asked for, as far as it is in force."""

    pause: PauseDocument | None
    override: OverrideDocument | None
