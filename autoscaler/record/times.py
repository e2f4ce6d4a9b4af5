"""Times as the state keeps them: whole microseconds."""

from datetime import UTC, datetime, timedelta
from typing import Final

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND: Final = timedelta(microseconds=1)


def to_micros(at: datetime) -> int:
    """Microseconds since 1970 of an aware time."""
    return (at - _EPOCH) // _MICROSECOND


def from_micros(micros: int) -> datetime:
    """The aware UTC time of `to_micros`."""
    return _EPOCH + timedelta(microseconds=micros)


def micros_of(duration: timedelta) -> int:
    """A duration in microseconds."""
    return duration // _MICROSECOND
