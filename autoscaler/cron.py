"""Cron expressions and local times of a time zone. The only user of cronsim."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from heapq import merge
from typing import Final
from zoneinfo import ZoneInfo

from cronsim import CronSim, CronSimError

_FIELDS: Final = 5
_MAX_CHARACTERS: Final = 256
"""Characters of an expression."""
_ANY_TIME: Final = datetime(2024, 1, 1, tzinfo=UTC)
_MINUTE: Final = timedelta(minutes=1)
_DAY: Final = timedelta(days=1)


def zone_of(name: str) -> ZoneInfo:
    """Return a zone of the IANA database. Raises ValueError."""
    try:
        return ZoneInfo(name)
    except (OSError, ValueError, KeyError):  # ZoneInfoNotFoundError is a KeyError; a folder's name is an OSError
        raise ValueError(f"{name[:64]!r} is not a time zone of this machine; write one as in Europe/Berlin") from None


def check_cron(expression: str) -> str:
    """Return the expression if it has five fields and matches some time. Raises ValueError."""
    if len(expression) > _MAX_CHARACTERS or len(expression.split()) != _FIELDS:
        raise ValueError(
            f"{expression[:64]!r} is not a cron expression of five fields; write minute, hour, day of the month, month "
            'and day of the week, as in "0 8 * * 1-5"'
        )
    try:
        next(CronSim(expression, _ANY_TIME))
    except (CronSimError, ValueError, AssertionError) as error:
        said = f" ({str(error)[:64]})" if isinstance(error, CronSimError) else ""
        raise ValueError(f'{expression[:64]!r} is not a cron expression{said}; write one as in "0 8 * * 1-5"') from None
    except StopIteration:
        raise ValueError(f"{expression[:64]!r} matches no day in 50 years; correct its day and month") from None
    return expression


def joins_days_by_and(expression: str) -> bool:
    """Return whether both day fields are restricted and a day must match both.

    As in Debian's cron, that is so if one of them begins with `*`, as in `*/2`; otherwise a day matches either field.
    """
    _, _, day, _, weekday = expression.split()
    return "*" not in (day, weekday) and (day.startswith("*") or weekday.startswith("*"))


def times(expression: str, zone: ZoneInfo, after: datetime) -> Iterator[datetime]:
    """Yield the times of an expression after `after`, in UTC and in their order.

    A time that the change to summer time leaves out comes at the change. A time that the change back repeats comes
    once. If the hour or the minute begins with `*`, a left-out time does not come, and a repeated one comes twice.
    """
    last, local = after.astimezone(UTC), _clock(after, zone)
    found: Iterator[datetime]
    if _follows_the_clock(expression):
        set_back = local + _DAY - _clock(last + _DAY, zone)  # within a day; the clock then shows earlier times again
        begin = local - max(set_back, timedelta(0))
        found = merge(*(_shown(expression, zone, begin, fold) for fold in (0, 1)))
    else:
        found = (instant(each, zone) for each in CronSim(expression, local))
    for at in found:
        if at > last:
            yield at
            last = at


def _clock(at: datetime, zone: ZoneInfo) -> datetime:
    """Return what the zone's clocks show, without a zone."""
    return at.astimezone(zone).replace(tzinfo=None)


def _follows_the_clock(expression: str) -> bool:
    """Return whether an expression comes exactly when the clock shows its times: a left-out one does not come."""
    minute, hour, *_ = expression.split()
    return minute.startswith("*") or hour.startswith("*")


def _shown(expression: str, zone: ZoneInfo, begin: datetime, fold: int) -> Iterator[datetime]:
    """Yield when the clock shows each time of an expression after the local time `begin`, in UTC.

    `fold`: which of two equal local times; others come with both.
    """
    for local in CronSim(expression, begin):
        at = local.replace(tzinfo=zone, fold=fold).astimezone(UTC)
        if _clock(at, zone) == local:  # otherwise the clock leaves it out
            yield at


def meant(expression: str, zone: ZoneInfo, at: datetime) -> datetime:
    """Return the last local time of those of an expression that come at one instant; `at` is one of its `times`.

    At the change to summer time, the times that it leaves out come at the same instant.
    """
    local = _clock(at, zone)
    until = _clock(at - _MINUTE, zone) + _MINUTE
    if until >= local or _follows_the_clock(expression):
        return local
    return next(CronSim(expression, local + _MINUTE, reverse=True))


def instant(local: datetime, zone: ZoneInfo) -> datetime:
    """Return a local time in UTC, by the rules of `times`: of two equal ones the first."""
    while True:
        at = local.replace(tzinfo=zone, fold=0).astimezone(UTC)
        if _clock(at, zone) == local:
            return at
        local = local.replace(second=0, microsecond=0) + _MINUTE
