"""What schedules change, for `autoscaler schedule`."""

from collections.abc import Iterable
from datetime import datetime

from autoscaler.cron import zone_of
from autoscaler.document import Document
from autoscaler.foresee.schedule import ScheduledChange


class ScheduledBoundsDocument(Document):
    """The bounds of an autoscaler by its configuration and its schedules."""

    minimum: int
    maximum: int


class ScheduledChangeDocument(Document):
    """A change of these bounds."""

    autoscaler: str
    at: datetime
    local: datetime
    """The same time, in the zone of the entry."""
    timezone: str
    before: ScheduledBoundsDocument
    after: ScheduledBoundsDocument
    opened: tuple[str, ...]
    """The entries that open then."""
    closed: tuple[str, ...]
    """The entries that close then."""


class Calendar(Document):
    """Every change in a time."""

    begin: datetime
    end: datetime
    changes: tuple[ScheduledChangeDocument, ...]


def calendar(changes: Iterable[tuple[str, ScheduledChange]], begin: datetime, end: datetime) -> Calendar:
    """Return the document. `changes`: each with its autoscaler's name."""
    found = [_change(name, change) for name, change in changes]
    return Calendar(begin=begin, end=end, changes=tuple(sorted(found, key=lambda each: (each.at, each.autoscaler))))


def _change(name: str, change: ScheduledChange) -> ScheduledChangeDocument:
    zone = (*change.opened, *change.closed)[0].timezone
    return ScheduledChangeDocument(
        autoscaler=name,
        at=change.at,
        local=change.at.astimezone(zone_of(zone)),
        timezone=zone,
        before=ScheduledBoundsDocument.of(change.before),
        after=ScheduledBoundsDocument.of(change.after),
        opened=tuple([each.name for each in change.opened]),
        closed=tuple([each.name for each in change.closed]),
    )
