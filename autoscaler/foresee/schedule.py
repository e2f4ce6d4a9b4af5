"""What schedules change, and when, before it happens."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from autoscaler.decide.scaling_rules import bounds_of
from autoscaler.decide.schedules import counted
from autoscaler.decide.shadow import start_up_time
from autoscaler.errors import TargetError
from autoscaler.model import Autoscaler, Limits, Observation, ScheduleEntry


@dataclass(frozen=True, slots=True)
class ScheduledBounds:
    """The bounds of an autoscaler by its configuration and its open schedules."""

    minimum: int
    maximum: int


@dataclass(frozen=True, slots=True)
class ScheduledChange:
    """A change of these bounds."""

    at: datetime
    """In UTC."""
    before: ScheduledBounds
    after: ScheduledBounds
    opened: Sequence[ScheduleEntry]
    """The entries that open then."""
    closed: Sequence[ScheduleEntry]
    """The entries that close then."""


def scheduled_changes(scaler: Autoscaler, begin: datetime, end: datetime) -> Iterator[ScheduledChange]:
    """Yield each change after `begin` and before `end`, in order."""
    windows = [(entry, window) for entry in scaler.schedules for window in entry.windows(begin, end)]
    edges = sorted({at for _, window in windows for at in window if begin < at < end})
    present = [entry for entry, window in windows if window.begin <= begin]
    for at in edges:
        opened = [entry for entry, window in windows if window.begin == at]
        closed = [entry for entry, window in windows if window.end == at]
        following = [
            entry for entry in scaler.schedules if (entry in present and entry not in closed) or entry in opened
        ]
        before, after = scheduled_bounds(scaler, present), scheduled_bounds(scaler, following)
        if before != after:
            yield ScheduledChange(at, before, after, opened, closed)
        present = following


def suggested_lead_time(scaler: Autoscaler, observed: Observation | None) -> timedelta | None:
    """Return the start-up time of the target's instances if a minimum opens later than that before its start.

    None: every entry opens early enough, or the start-up time is unknown.
    """
    if observed is None or isinstance(observed.target, TargetError):
        return None
    leads = [each.lead_time for each in scaler.schedules if each.min_replicas is not None]
    known = start_up_time(observed.target) if leads else None
    return known if known is not None and min(leads) < known else None


def scheduled_bounds(scaler: Autoscaler, open_entries: Sequence[ScheduleEntry]) -> ScheduledBounds:
    """Return the bounds while these entries are open, without an override and the target's own limits."""
    found = bounds_of(scaler, None, counted(scaler, open_entries), Limits())
    return ScheduledBounds(found.minimum, found.maximum)
