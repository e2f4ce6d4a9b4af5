"""Events; equal ones are counted."""

from datetime import datetime
from typing import TYPE_CHECKING

from autoscaler.document import Document
from autoscaler.model import Direction, EventType

if TYPE_CHECKING:  # the command line reads the daemon's documents without SQLAlchemy
    from autoscaler.record.values import EventRow


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
    """The direction of a change of size, also of a failed one; null: another kind of event."""


class EventList(Document):
    """A page of events."""

    events: tuple[EventDocument, ...]
    """Sorted by their last time, the newest last."""
    total: int
    """The number on all pages."""
    since: datetime | None = None
    """There are too many events to count them all: the pages have the newest, those since then; null: they have all."""


def event(row: "EventRow") -> EventDocument:
    """Return the document of equal events."""
    return EventDocument.of(row, autoscaler=row.name)
