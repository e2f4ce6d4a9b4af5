"""Times in a scenario. They count from its start, in real time: setting the daemon's clock does not move them."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta, tzinfo
from datetime import time as time_of_day
from typing import Final, TypeVar

from autoscaler.cron import zone_of
from autoscaler.errors import QuantityError
from autoscaler.quantity import parse_duration

_CLOCK: Final = re.compile(r"[0-9]{2}:[0-9]{2}(?::[0-9]{2})?", re.ASCII)
_DATE: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T.+", re.ASCII)
_EARLIEST: Final = 1971
_LATEST: Final = 9000
_Time = TypeVar("_Time", datetime, time_of_day)


@dataclass(frozen=True, slots=True)
class Start:
    """The start of a scenario."""

    at: datetime
    """Aware, in the scenario's zone."""

    @classmethod
    def of(cls, text: str, timezone: str | None) -> "Start":
        """Return the start. Raises ValueError."""
        if not _DATE.fullmatch(text):
            raise ValueError(f"{text[:64]!r} is not a start; write date and time, as in 2026-11-23T07:55")
        at = _parsed(datetime.fromisoformat, text)
        if not _EARLIEST <= at.year <= _LATEST:
            raise ValueError(f"{text[:64]!r} is outside the years {_EARLIEST} to {_LATEST}")
        if at.tzinfo is None:
            if timezone is None:
                raise ValueError("it has no zone; add `timezone`, as in Europe/Berlin, or an offset, as in Z or +01:00")
            return cls(_in_zone(at, zone_of(timezone)))
        return cls(at if timezone is None else at.astimezone(zone_of(timezone)))

    def elapsed(self, text: str) -> timedelta:
        """Return the time from the start to a time: a duration, a time of day or a date and time. Raises ValueError.

        A time of day is the first one at or after the start.
        """
        if _CLOCK.fullmatch(text):
            at = self._of_day(text)
        elif _DATE.fullmatch(text):
            at = _parsed(datetime.fromisoformat, text)
            at = at if at.tzinfo is not None else _in_zone(at, self.at.tzinfo)
        else:
            try:
                return parse_duration(text)
            except QuantityError as error:
                raise ValueError(f"{error}; or a time of day, as in 08:10, or a date and time") from None
        seconds = at.timestamp() - self.at.timestamp()
        if seconds < 0:
            raise ValueError(f"{text[:64]} is before the start")
        return timedelta(seconds=seconds)

    def _of_day(self, text: str) -> datetime:
        clock = _parsed(time_of_day.fromisoformat, text)
        today = datetime.combine(self.at.date(), clock)
        days = (today, today.replace(fold=1), today + timedelta(days=1))  # clocks that are put back repeat an hour
        found = next(day for day in days if day.replace(tzinfo=self.at.tzinfo).timestamp() >= self.at.timestamp())
        return _in_zone(found, self.at.tzinfo)

    def text(self, elapsed: timedelta) -> str:
        """Format a time for readers: `2026-11-23 08:10:00 CET`."""
        at = datetime.fromtimestamp(self.at.timestamp() + elapsed.total_seconds(), self.at.tzinfo)
        return f"{at:%Y-%m-%d %H:%M:%S %Z}"


def _parsed(parse: Callable[[str], _Time], text: str) -> _Time:
    try:
        return parse(text)
    except ValueError:
        raise ValueError(f"{text[:64]!r} is not a time; write it as in 08:10 or 2026-11-23T07:55") from None


def _in_zone(at: datetime, zone: tzinfo | None) -> datetime:
    """Return a local time, aware. Raises ValueError for one that the change to summer time leaves out."""
    aware = at.replace(tzinfo=zone)
    if datetime.fromtimestamp(aware.timestamp(), aware.tzinfo).replace(tzinfo=None) != at:
        raise ValueError(f"{at.isoformat()} does not exist in {zone}: clocks are put forward then")
    return aware
