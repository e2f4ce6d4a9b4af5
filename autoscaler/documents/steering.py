"""What operators have asked of an autoscaler, as it is shown."""

from datetime import datetime

from autoscaler.documents.base import Document
from autoscaler.model import Direction, Steering


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


def steering_document(steering: Steering) -> SteeringDocument:
    """Its document."""
    pause, override = steering.pause, steering.override
    return SteeringDocument(
        pause=None
        if pause is None
        else PauseDocument(
            direction=pause.direction, by=pause.by, reason=pause.reason, since=pause.since, until=pause.until
        ),
        override=None
        if override is None
        else OverrideDocument(
            minimum=override.minimum,
            maximum=override.maximum,
            by=override.by,
            reason=override.reason,
            since=override.since,
            until=override.until,
        ),
    )
