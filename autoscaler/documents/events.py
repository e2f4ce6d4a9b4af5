"""Events, equal ones counted."""

from datetime import datetime
from typing import TYPE_CHECKING

from autoscaler.documents.base import Document
from autoscaler.model import Direction, EventType

if TYPE_CHECKING:  # the command line reads documents that a daemon made, and needs no SQLAlchemy for it
    from autoscaler.record import EventRow


class EventDocument(Document):
    """Equal events of one autoscaler, counted: `x5 over 96s`."""

    autoscaler: str
    type: EventType
    reason: str
    message: str
    count: int
    first: datetime
    last: datetime
    dry_run: bool
    direction: Direction | None = None
    """Of a change of size, also of one that failed and of a dry run's shadow: `out` or `in`; null: it is of another
    kind."""


class EventList(Document):
    """A page of events."""

    events: tuple[EventDocument, ...]
    """In the order of their last time, the newest last."""
    total: int
    """How many there are on all pages."""


def event(row: "EventRow") -> EventDocument:
    """The document of equal events."""
    return EventDocument.of(row, autoscaler=row.name)
