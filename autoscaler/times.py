"""Times as people and programs write them, for the command line, the API and the page."""

import re
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime, timedelta, tzinfo
from datetime import time as time_of_day
from typing import Final

from autoscaler.errors import QuantityError
from autoscaler.quantity import parse_duration

YEARS: Final = range(1970, 9000)
"""The years of a time, so that a duration can be added to every time."""
INSTANT: Final = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)")
"""A time with its offset, as the sentences of decisions have it."""
_EARLIEST: Final = datetime(YEARS[0], 1, 1, tzinfo=UTC)
_LATEST: Final = datetime(YEARS[-1], 1, 1, tzinfo=UTC)


def parse_instant(text: str, zone: tzinfo | None = None) -> datetime:
    """Parse a date and a time in ISO 8601, or as RFC 5322 writes it; return it in UTC.

    `zone` applies to a text without an offset; None: local time. Raises ValueError for another form and
    for a year outside YEARS.
    """
    # the page and `describe` write a space before the offset
    text = re.sub(r" (?=[-+]\d\d:?\d\d$)", "", re.sub(r" ?(?:UTC|GMT)$", "+00:00", text))
    try:
        found = datetime.strptime(text, "%a, %d %b %Y %H:%M:%S%z") if "," in text else datetime.fromisoformat(text)
    except (ValueError, OverflowError):
        raise ValueError(f"{text[:64]!r} is not a valid time") from None
    if found.year not in YEARS:
        raise ValueError(f"{text[:64]!r} is not in the years {YEARS[0]} to {YEARS[-1]}")
    return max((found if found.tzinfo else found.replace(tzinfo=zone)).astimezone(UTC), _EARLIEST)


def find_instants(text: str) -> Iterator[tuple[re.Match[str], datetime]]:
    """Yield the place of each time in a text, and the time in UTC.

    What only looks like a time is left out: other programs' texts hold any year, such as Go's 0001-01-01 for none.
    """
    for found in INSTANT.finditer(text):
        with suppress(ValueError):
            yield found, parse_instant(found[0])


def parse_time(text: str, now: datetime, zone: tzinfo | None = None) -> datetime:
    """Parse a time in every form that the terminal and the page show; return it in UTC.

    `10m`: an age; `+10m`: from now on; `now`; `14:30`, `14:30:05 UTC`: the last time that a clock showed it; else as
    `parse_instant`.
    """
    if text == "now":
        return now
    clock = re.fullmatch(r"(\d\d?)(:\d\d(?::\d\d)?)( ?UTC)?", text.removesuffix(" local"), re.ASCII)
    try:
        if clock is not None:
            at = time_of_day.fromisoformat(clock[1].zfill(2) + clock[2]).replace(tzinfo=UTC if clock[3] else zone)
            today = datetime.combine(now.astimezone(at.tzinfo).date(), at).astimezone(UTC)
            return today if today <= now else today - timedelta(days=1)
        if text.startswith("+"):
            return min(now + parse_duration(text[1:]), _LATEST)
        if "-" not in text and "," not in text:
            return max(now - parse_duration(text), _EARLIEST)
    except (ValueError, OverflowError, QuantityError):
        raise ValueError(f"{text[:64]!r} is not a valid time") from None
    return parse_instant(text.removesuffix(" local"), zone)


def last_time(text: str, now: datetime, zone: tzinfo | None = None) -> datetime:
    """Parse a time as `parse_time` does; return the last one that is shown like it, because shown times are cut."""
    found = parse_time(text, now, zone)
    if ":" not in text:
        return found
    decimals = re.search(r"\.(\d{1,6})", text)
    return found + timedelta(microseconds=10 ** (6 - len(decimals[1] if decimals else "")) - 1)


def rfc3339(at: datetime) -> str:
    """Return a time in UTC as RFC 3339 writes it, with `Z`."""
    return at.astimezone(UTC).isoformat().replace("+00:00", "Z")


def time_text(at: datetime) -> str:
    """Return a time as messages of decisions have it: ISO 8601, to the second."""
    return at.isoformat(timespec="seconds")


def format_until(until: datetime | None) -> str:
    """Format the end of a pause or override: `until it is resumed`, `until 2026-05-04T14:00:00+00:00`."""
    return "until it is resumed" if until is None else f"until {time_text(until)}"
