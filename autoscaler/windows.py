"""Windows of time: when the entries of schedules are open."""

import dataclasses
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from functools import lru_cache
from itertools import islice, takewhile
from typing import Final, NamedTuple
from weakref import WeakValueDictionary
from zlib import crc32
from zoneinfo import ZoneInfo

from autoscaler.cron import instant, meant, times, zone_of

MAX_OPEN: Final = timedelta(days=31)
"""An entry is open for at most so long after a start."""
_LOOKBACK: Final = timedelta(days=32)
"""From a time, all starts of entries that may still be open then."""
_DAY: Final = timedelta(days=1)
_SECOND: Final = timedelta(seconds=1)
_NEVER: Final = datetime.max.replace(tzinfo=UTC)
_READY_BY: Final = 0.9
"""Share of the rest of a day in which the next day's windows are made."""
_LEAP_YEAR: Final = datetime(2024, 1, 1, tzinfo=UTC), datetime(2025, 1, 1, tzinfo=UTC)
_MAX_COMPARED: Final = 400
"""Starts of an entry, for `overlap`: a year of daily ones."""


class Window(NamedTuple):
    """A time in which an entry is open: from `begin`, and no longer at `end`. Both in UTC."""

    begin: datetime
    end: datetime


class _Kept:
    """Keeps the windows beside an entry. They are no field: entries with other ones are equal, and none is recorded."""

    __slots__ = ("calendar",)
    calendar: "_Calendar"


@dataclass(frozen=True, slots=True)
class ScheduleEntry(_Kept):
    """One entry of a schedule. It has either `cron` with `duration` or `until`, or `start` and `end`."""

    name: str
    """As it is shown: the schedule's name, with an index if it has several entries."""
    timezone: str
    cron: str | None = None
    """The starts."""
    duration: timedelta | None = None
    """From a start to its end, in elapsed time."""
    until: str | None = None
    """Expression of the ends: the first one after a start, at most MAX_OPEN after it."""
    start: datetime | None = None
    """Local time in `timezone`, as `end`."""
    end: datetime | None = None
    min_replicas: int | None = None
    max_replicas: int | None = None
    replace: bool = False
    """Whether `min_replicas` counts below the autoscaler's, too."""
    excluded: tuple[date, ...] = ()
    """Local dates without a start."""
    lead_time: timedelta = timedelta(0)
    """How long before a start the entry opens."""

    def overlap(self, other: "ScheduleEntry") -> datetime | None:
        """Return a time (UTC) at which both entries are open; None: there is none.

        An entry with a `start` has one window. Of two entries that repeat, only the first windows of a leap year count.
        """
        return _overlap(self.times_alone(), other.times_alone())

    def times_alone(self) -> "ScheduleEntry":
        """Return the entry without its name and bounds, as many entries have the same times."""
        return dataclasses.replace(self, name="", min_replicas=None, max_replicas=None, replace=False)

    def windows(self, begin: datetime, end: datetime) -> Iterator[Window]:
        """Yield the windows that are open at some time from `begin` to before `end`, in order. They do not overlap."""
        known: Window | None = None
        for each in self.openings(self.earliest(begin), end):
            if each.end <= begin:
                continue
            if known is None:
                known = each
            elif each.begin <= known.end:
                known = Window(known.begin, max(known.end, each.end))
            else:
                yield known
                known = each
        if known is not None:
            yield known

    def earliest(self, begin: datetime) -> datetime:
        """Return a time before every start whose window may still be open at `begin`."""
        if self.duration is not None:
            return begin - self.duration - _DAY
        if self.until is not None:  # an end closes whatever began before it: where ends are daily, a month is saved
            ended = next(times(self.until, zone_of(self.timezone), begin - _DAY), _NEVER)
            if ended <= begin:
                return ended - _SECOND
        return begin - _LOOKBACK

    def openings(self, after: datetime, end: datetime, most: int | None = None) -> Iterator[Window]:
        """Yield a window for each start after `after` that opens before `end`, in order; for at most `most` starts."""
        zone = zone_of(self.timezone)
        if self.start is not None and self.end is not None:
            only = Window(instant(self.start, zone) - self.lead_time, instant(self.end, zone))
            if only.begin < end and only.begin < only.end:  # else a change of the clock leaves both out
                yield only
        if self.cron is None:
            return
        ends = iter(()) if self.until is None else times(self.until, zone, after)
        ending = ended = after
        starts = takewhile(lambda at: at - self.lead_time < end, times(self.cron, zone, after))
        for start in islice(starts, most):
            if start.astimezone(zone).date() in self.excluded:
                continue
            if self.duration is not None:
                ended = start + self.duration
            elif start >= ended:  # a start before the end of an earlier one has the same end
                closes = False
                while ending <= start:
                    closes = ending == start and self._closes(start, zone)
                    ending = next(ends, _NEVER)
                ended = start if closes else min(ending, start + MAX_OPEN)
            else:
                continue
            if start - self.lead_time < ended:
                yield Window(start - self.lead_time, ended)

    def _closes(self, start: datetime, zone: ZoneInfo) -> bool:
        """Return whether an end at the instant of a start is its own: a change of the clock leaves out both."""
        return meant(str(self.cron), zone, start) < meant(str(self.until), zone, start)


@lru_cache(maxsize=2**14)
def _overlap(one: ScheduleEntry, other: ScheduleEntry) -> datetime | None:
    for fixed, varied in ((one, other), (other, one)):
        if fixed.cron is None:
            window = next(fixed.openings(_LEAP_YEAR[0], _NEVER), None)
            if window is None:
                return None
            found = varied.openings(varied.earliest(window.begin), window.end)
            return next((max(each.begin, window.begin) for each in found if each.end > window.begin), None)
    mine, others = iter(_first_openings(one)), iter(_first_openings(other))
    own, its = next(mine, None), next(others, None)
    while own is not None and its is not None:
        if own.begin < its.end and its.begin < own.end:
            return max(own.begin, its.begin)
        if own.end <= its.begin:
            own = next(mine, None)
        else:
            its = next(others, None)
    return None


@lru_cache(maxsize=2**10)
def _first_openings(entry: ScheduleEntry) -> tuple[Window, ...]:
    return tuple(entry.openings(*_LEAP_YEAR, _MAX_COMPARED))


class _Calendar:
    """The windows of all entries with the same times, by day of UTC. Dense expressions take long to iterate.

    It keeps those of the day that was asked for last and of the day after, which it makes at a time of its own during
    that day. So the windows of many entries are made a few at a time, and none at midnight.
    """

    __slots__ = ("__weakref__", "_day", "_due", "_entry", "_share", "_windows")

    def __init__(self, entry: ScheduleEntry) -> None:
        self._entry = entry
        self._share = crc32(repr(entry).encode()) / 2**32 * _READY_BY
        """After which share of the rest of a day the next day's windows are made."""
        self._windows: dict[date, tuple[Window, ...]] = {}
        self._day = date.min
        self._due = _NEVER

    def is_open(self, at: datetime) -> bool:
        """Return whether a window is open at this time."""
        day, known = at.date(), self._windows  # several threads may ask, so what they find is replaced as a whole
        windows = known.get(day)
        if windows is None or day != self._day:
            windows = self._made(day) if windows is None else windows
            self._windows = {day: windows}
            self._day, self._due = day, at + (_midnight(day) + _DAY - at) * self._share
        elif at >= self._due:
            self._due = _NEVER
            self._windows = {day: windows, day + _DAY: self._made(day + _DAY)}
        place = bisect_right(windows, Window(at, _NEVER)) - 1
        return place >= 0 and at < windows[place].end

    def _made(self, day: date) -> tuple[Window, ...]:
        return tuple(self._entry.windows(_midnight(day), _midnight(day) + _DAY))


_CALENDARS: Final = WeakValueDictionary[ScheduleEntry, _Calendar]()
"""By an entry's times alone."""


def _calendar_of(entry: ScheduleEntry) -> _Calendar:
    try:
        return entry.calendar
    except AttributeError:  # it is asked for the first time
        times_alone = entry.times_alone()
        calendar = _CALENDARS.get(times_alone) or _Calendar(times_alone)
        _CALENDARS[times_alone] = calendar
        object.__setattr__(entry, "calendar", calendar)
        return calendar


def _midnight(day: date) -> datetime:
    return datetime.combine(day, time(), UTC)


def is_open(entry: ScheduleEntry, at: datetime) -> bool:
    """Return whether an entry is open at a civil time, in UTC."""
    return _calendar_of(entry).is_open(at)
