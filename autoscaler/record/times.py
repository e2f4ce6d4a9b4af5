"""Converts times to whole microseconds, as they are in the state, and back."""

from datetime import UTC, datetime, timedelta
from typing import Final

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND: Final = timedelta(microseconds=1)


def to_micros(at: datetime) -> int:
    """Return an aware time in microseconds since 1970."""
    return (at - _EPOCH) // _MICROSECOND


def from_micros(micros: int) -> datetime:
    """Return the aware UTC time of `to_micros`."""
    return _EPOCH + timedelta(microseconds=micros)


def micros_of(duration: timedelta) -> int:
    """Return a duration in microseconds."""
    return duration // _MICROSECOND
