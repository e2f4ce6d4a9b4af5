"""Whether an answer is of now: a cache's is not, and one from a machine whose clock differs from ours may not be.

Source: RFC 9110, 6.6.1 (Date), RFC 9111, 5.1 (Age).
"""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Final

from autoscaler.errors import MetricError
from autoscaler.observe.answer import FARTHEST_SECONDS
from autoscaler.quantity import format_seconds

_FARTHEST: Final = timedelta(seconds=FARTHEST_SECONDS)
_MOST_DIGITS: Final = 10
"""Of an Age in seconds: 68 years, more than any cache keeps anything."""
_DATE_LENGTH: Final = len("Sun, 06 Nov 1994 08:49:37 GMT")


def check_fresh(headers: Mapping[str, str], asked: datetime, answered: datetime) -> None:
    """Raises MetricError for an answer whose headers say that it was made more than a minute before or after.

    `asked`, `answered`: by our clock, when the request left and the answer was complete. A header that is not valid
    says nothing.
    """
    age = headers.get("Age", "").partition(",")[0].strip()[: _MOST_DIGITS + 1]
    if age.isascii() and age.isdecimal() and int(age) > FARTHEST_SECONDS:
        raise MetricError(
            f"answered from a cache that has kept the answer for {int(age)} s (header Age); "
            "let no proxy keep the answers of /api/v1/query"
        )
    date = _date(headers.get("Date", ""))
    if date is None:
        return
    if date > answered + _FARTHEST:
        raise MetricError(
            f"has a clock that is {format_seconds(date - answered)} ahead of ours (header Date): check this machine's "
            "clock first, then the server's; with a clock that is slow we would ask for load of the past"
        )
    if date < asked - _FARTHEST:
        raise MetricError(
            f"has a clock that is {format_seconds(asked - date)} behind ours (header Date): check the server's clock, "
            "and whether a proxy kept this answer, then this machine's; with one that is fast we would ask for load to "
            "come"
        )


def _date(text: str) -> datetime | None:
    """The time of a Date header, in the one form in which they are sent."""
    if len(text) != _DATE_LENGTH:
        return None
    try:
        return datetime.strptime(text, "%a, %d %b %Y %H:%M:%S GMT").replace(tzinfo=UTC)
    except ValueError:
        return None
