"""Schedules: other bounds at times of the calendar."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import permutations
from typing import Final

from autoscaler.fields.find_values import Loc
from autoscaler.model import Autoscaler, Bound, ManualControls
from autoscaler.rules.rule import SILENCE, Cycle, Rule, Said, Written
from autoscaler.rules.schedules.keys import EntryKeys, Keys
from autoscaler.rules.schedules.memory import OpenEntries, OpenEntry, ShownEntries, ShownLeadTime
from autoscaler.windows import ScheduleEntry, is_open


def _written_entries(written: Written[Keys]) -> Iterator[tuple[int, ScheduleEntry]]:
    """Yield the entries of an autoscaler's `schedules`, each with its index there. Leaves out names that are wrong."""
    for index, each in enumerate(written.body.schedules):
        if isinstance(each, EntryKeys):
            yield index, each.spec(f"schedules[{index}]")
            continue
        entries = written.schedules.get(each, ())
        for number, entry in enumerate(entries):
            yield index, entry.spec(each if len(entries) == 1 else f"{each}[{number}]")


@dataclass(frozen=True, slots=True)
class Schedules(Rule):
    """The entries of all schedules of an autoscaler, in the configuration's order."""

    name = "schedules"
    keys = Keys
    memory = OpenEntries
    documents = (ShownEntries, ShownLeadTime)
    by_calendar = True

    entries: tuple[ScheduleEntry, ...]

    @classmethod
    def configured(cls, written: Written[Keys]) -> "Schedules | None":
        """Return the entries of the autoscaler's schedules; None: there are none."""
        entries = tuple([entry for _, entry in _written_entries(written)])
        return cls(entries) if entries else None

    @classmethod
    def problems(cls, written: Written[Keys]) -> Iterator[tuple[Loc, str]]:
        """Yield the entries whose minimum the autoscaler cannot have."""
        maximum = written.max_replicas
        for index, entry in _written_entries(written):
            low = entry.min_replicas
            if low is None:
                continue
            if entry.max_replicas is None and low > maximum:
                message = (
                    f"minReplicas {low} of {entry.name} is above maxReplicas {maximum}; lower it, or give the entry a "
                    "maxReplicas"
                )
                yield ("schedules", index), message
            if low == 0 and entry.replace and not written.wakes:
                message = f"minReplicas 0 of {entry.name} needs an Object or External metric to scale up again; write 1"
                yield ("schedules", index), message

    @classmethod
    def hints(cls, written: Written[Keys]) -> Iterator[tuple[Loc, str]]:
        """Yield the entries that are never open, are always open or set no bound that counts, and those that overlap.

        Entries overlap if the minimum of one is open at a time at which another's maximum is lower.
        """
        own = list(_written_entries(written))
        for index, entry in own:
            message = _why_idle(entry) or _why_without_effect(
                entry, written.min_replicas, written.max_replicas, len(own) == 1
            )
            if message:
                yield ("schedules", index), f"{entry.name} {message}"
        for (_, low), (index, high) in permutations(own, 2):
            minimum, maximum = low.min_replicas, high.max_replicas
            if minimum is None or maximum is None or minimum <= maximum:
                continue
            at = low.overlap(high)
            if at is not None:
                message = (
                    f"{low.name} and {high.name} are open together, as on {at:%Y-%m-%d at %H:%M} UTC; then minReplicas "
                    f"{minimum} takes precedence over maxReplicas {maximum}"
                )
                yield ("schedules", index), message

    def follow(self, cycle: Cycle, memory: OpenEntries | None) -> Said:
        """Return the bounds of the open entries: the largest minimum and the smallest maximum.

        While civil time is in doubt, only bounds above the autoscaler's own count.
        """
        if cycle.state is None:
            return SILENCE
        found = counted(cycle.scaler, self.open_at(cycle.civil), raising=cycle.observed.civil.doubted)
        minimum, maximum = bounds_of(found)
        # an entry that has closed may have made a zero, and the fleet returns when it closes
        return Said(OpenEntries(found) if found else None, minimum=minimum, maximum=maximum, ends_zero=True)

    def within(self, ceiling: int) -> "Schedules":
        """Return the entries with their bounds at most at the ceiling."""
        return Schedules(tuple([_within(each, ceiling) for each in self.entries]))

    def prepare(self, at: datetime) -> None:
        """Compute today's windows of all entries in advance: those of 20,000 entries take seconds."""
        self.open_at(at)

    def open_at(self, at: datetime) -> Sequence[ScheduleEntry]:
        """Return the entries that are open at a civil time, in the configuration's order."""
        return [each for each in self.entries if is_open(each, at)]

    @staticmethod
    def bounds(memory: OpenEntries | None, manual: ManualControls) -> tuple[Bound | None, Bound | None]:
        """Return the bounds of the entries that were open and counted."""
        return bounds_of(() if memory is None else memory.entries)

    @staticmethod
    def shown(memory: OpenEntries) -> object:
        """Return the entries."""
        return memory.entries


def bounds_of(entries: Iterable[OpenEntry]) -> tuple[Bound | None, Bound | None]:
    """Return the minimum and the maximum of open entries: the largest and the smallest; None: they set none."""
    minimum: Bound | None = None
    maximum: Bound | None = None
    for each in entries:
        if each.minimum is not None and (minimum is None or each.minimum > minimum.size):
            minimum = _bound(each.minimum, f"the minimum of schedule {each.name}")
        if each.maximum is not None and (maximum is None or each.maximum < maximum.size):
            maximum = _bound(each.maximum, f"the maximum of schedule {each.name}")
    return minimum, maximum


def _within(entry: ScheduleEntry, ceiling: int) -> ScheduleEntry:
    low, high = (None if each is None else min(each, ceiling) for each in (entry.min_replicas, entry.max_replicas))
    return replace(entry, min_replicas=low, max_replicas=high)


def _bound(size: int, of: str) -> Bound:
    return Bound(size, of, Schedules.name, recommended=True)


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


_EVER: Final = datetime.max.replace(tzinfo=UTC)


def _why_idle(entry: ScheduleEntry) -> str:
    if entry.cron is None:
        window = next(entry.openings(_EVER, _EVER), None)
        return "" if window else "is never open, because a change of the clock leaves out all of it; correct its times"
    if entry.until is not None and entry.until.split() == entry.cron.split():
        return "is always open, because `until` equals `cron`; correct one of them"
    return ""


def _why_without_effect(entry: ScheduleEntry, minimum: int, maximum: int, alone: bool) -> str:
    """Return why an entry changes nothing. `alone`: no other schedule can make a bound count that is the file's own."""
    low, high = entry.min_replicas, entry.max_replicas
    if low is not None and low < minimum and not entry.replace and high in (None, maximum):
        return (
            f"has no effect: minReplicas {low} is below the autoscaler's {minimum}; add `replace: true`, or remove it"
        )
    if alone and low in (None, minimum) and high in (None, maximum):
        return "has no effect: its bounds are the autoscaler's own; correct them, or remove it"
    return ""
