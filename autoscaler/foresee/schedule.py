"""What schedules change, and when, before it happens."""

from collections.abc import Iterator, Sequence
from datetime import datetime

from autoscaler.cron import zone_of
from autoscaler.document import Document
from autoscaler.model import Autoscaler, Limits
from autoscaler.rules.bounds import combined
from autoscaler.rules.rule import Said
from autoscaler.rules.schedules import Schedules, bounds_of, counted
from autoscaler.windows import ScheduleEntry


class ScheduledBounds(Document):
    """The bounds of an autoscaler by its configuration and its open schedules."""

    minimum: int
    maximum: int


class ScheduledChange(Document):
    """A change of these bounds."""

    autoscaler: str
    at: datetime
    """In UTC."""
    local: datetime
    """The same time, in the zone of the first entry."""
    timezone: str
    before: ScheduledBounds
    after: ScheduledBounds
    opened: tuple[str, ...]
    """The entries that open then."""
    closed: tuple[str, ...]
    """The entries that close then."""


def scheduled_changes(scaler: Autoscaler, begin: datetime, end: datetime) -> Iterator[ScheduledChange]:
    """Yield each change after `begin` and before `end`, in order: what the daemon finds open when a window changes."""
    rule = scaler.rules.find(Schedules)
    if rule is None:
        return
    windows = (window for entry in rule.entries for window in entry.windows(begin, end))
    present = rule.open_at(begin)
    before = scheduled_bounds(scaler, present)
    for at in sorted({at for window in windows for at in window if begin < at < end}):
        following = rule.open_at(at)
        after = scheduled_bounds(scaler, following)
        if before != after:
            opened, closed = _beyond(following, present), _beyond(present, following)
            zone = (*opened, *closed)[0].timezone
            yield ScheduledChange(
                autoscaler=scaler.name,
                at=at,
                local=at.astimezone(zone_of(zone)),
                timezone=zone,
                before=before,
                after=after,
                opened=tuple([each.name for each in opened]),
                closed=tuple([each.name for each in closed]),
            )
        present, before = following, after


def _beyond(some: Sequence[ScheduleEntry], others: Sequence[ScheduleEntry]) -> Sequence[ScheduleEntry]:
    """Return the entries that are not among the others. Two entries of an autoscaler differ in their names."""
    return [each for each in some if each not in others]


def scheduled_bounds(scaler: Autoscaler, open_entries: Sequence[ScheduleEntry]) -> ScheduledBounds:
    """Return the bounds while these entries are open, without an override and the target's own limits."""
    minimum, maximum = bounds_of(counted(scaler, open_entries))
    found = combined(scaler, [Said(minimum=minimum, maximum=maximum)], Limits())
    return ScheduledBounds(minimum=found.minimum.size, maximum=found.maximum.size)
