"""Checks that an answer is current: neither cached, nor from a server whose clock differs.

Source: RFC 9110, 6.6.1 (Date), RFC 9111, 5.1 (Age).
"""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Final, NamedTuple

from autoscaler.errors import MetricError
from autoscaler.observe.answer import FARTHEST_SECONDS
from autoscaler.quantity import format_seconds

_FARTHEST: Final = timedelta(seconds=FARTHEST_SECONDS)
_MAX_DIGITS: Final = 10
"""Most digits of an Age in seconds: 68 years."""
_DATE_LENGTH: Final = len("Sun, 06 Nov 1994 08:49:37 GMT")


class ServerTime(NamedTuple):
    """A server's clock at one moment."""

    date: datetime
    """The header Date of an answer."""
    monotonic: float
    """When the answer was complete, on this machine's clock.monotonic()."""

    def differs(self, at: datetime, monotonic: float) -> bool:
        """Return whether the server's clock differs by a minute or more from one that shows `at` at `monotonic`."""
        return abs(self.date + timedelta(seconds=monotonic - self.monotonic) - at) >= _FARTHEST


def check_fresh(headers: Mapping[str, str], asked: datetime, answered: datetime) -> None:
    """Raise MetricError if the headers show that the answer was made more than a minute earlier or later.

    `asked` and `answered` are this machine's times of the request and of the complete answer. Invalid headers are
    ignored.
    """
    age = headers.get("Age", "").partition(",")[0].strip()[: _MAX_DIGITS + 1]
    if age.isascii() and age.isdecimal() and int(age) > FARTHEST_SECONDS:
        raise MetricError(
            f"answered from a cache, with an answer {int(age)} s old (header Age); exclude /api/v1/query from caching"
        )
    date = date_of(headers)
    if date is None:
        return
    if date > answered + _FARTHEST:
        raise MetricError(
            f"has a clock that is {format_seconds(date - answered)} ahead of ours (header Date): check this machine's "
            "clock first, then the server's; with a slow clock the daemon reads past load"
        )
    if date < asked - _FARTHEST:
        raise MetricError(
            f"has a clock that is {format_seconds(asked - date)} behind ours (header Date): check the server's clock, "
            "and whether a proxy kept this answer, then this machine's; with a fast clock here the daemon asks for "
            "future load"
        )


def date_of(headers: Mapping[str, str]) -> datetime | None:
    """Return the header Date, which has one current format. None: there is none, or it is invalid."""
    text = headers.get("Date", "")
    if len(text) != _DATE_LENGTH:
        return None
    try:
        return datetime.strptime(text, "%a, %d %b %Y %H:%M:%S GMT").replace(tzinfo=UTC)
    except ValueError:
        return None
