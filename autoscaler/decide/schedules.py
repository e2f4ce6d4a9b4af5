"""The entries of schedules that are open, and what counts of them."""

from collections.abc import Iterable, Sequence
from datetime import datetime

from autoscaler.model import Autoscaler, CivilTime, OpenEntry, ScheduleEntry
from autoscaler.model.schedule import is_open


def open_entries(scaler: Autoscaler, civil: CivilTime, now: datetime) -> tuple[OpenEntry, ...]:
    """Return the open entries that set a bound, in the configuration's order.

    While civil time is in doubt, only bounds above the autoscaler's own count.
    """
    if not scaler.schedules:
        return ()
    return counted(scaler, open_at(scaler, now + civil.ahead), raising=civil.doubted)


def open_at(scaler: Autoscaler, at: datetime) -> Sequence[ScheduleEntry]:
    """Return the entries that are open at a civil time, in the configuration's order."""
    return [each for each in scaler.schedules if is_open(each, at)]


def make_windows(scalers: Iterable[Autoscaler], at: datetime) -> None:
    """Make today's windows of all entries, before a cycle asks for them: those of 20,000 entries take seconds."""
    for scaler in scalers:
        open_at(scaler, at)


def counted(scaler: Autoscaler, entries: Iterable[ScheduleEntry], *, raising: bool = False) -> tuple[OpenEntry, ...]:
    """Return what counts of open entries. `raising`: only bounds above the autoscaler's own count."""
    found = [_counted(each, scaler, raising=raising) for each in entries]
    return tuple([each for each in found if (each.minimum, each.maximum) != (None, None)])


def _counted(entry: ScheduleEntry, scaler: Autoscaler, *, raising: bool) -> OpenEntry:
    minimum, maximum = entry.min_replicas, entry.max_replicas
    if minimum is not None and minimum < scaler.min_replicas and (raising or not entry.replace):
        minimum = None
    if maximum is not None and maximum < scaler.max_replicas and raising:
        maximum = None
    return OpenEntry(entry.name, minimum, maximum)
