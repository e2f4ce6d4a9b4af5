"""Lists of a whole account and region that change seldom: all are read every ten minutes, some pages a cycle."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final

from adapters.aws.raw import Raw, next_page, unavailable_if_malformed
from autoscaler.target import Call, Clock, Moment

if TYPE_CHECKING:
    from adapters.aws.api import AwsApi

_AGAIN_AFTER: Final = timedelta(minutes=10)
_PAGES_PER_CYCLE: Final = 4


@dataclass(frozen=True, slots=True)
class List:
    """A list of AWS in pages."""

    service: str
    operation: str
    """boto3's method."""
    items: str
    """Key of the entries in a page."""
    parameters: Mapping[str, Any]


class Lists:
    """The entries of some lists, of the last complete reading."""

    def __init__(self, api: "AwsApi", lists: Sequence[List], clock: Clock) -> None:
        self._api = api
        self._lists: Final = lists
        self._clock = clock
        self._reading: list[Raw] = []
        self._place: tuple[int, Mapping[str, str]] | None = None
        """The next list and page; None: all are read."""
        self._begun: Moment | None = None
        """Time when the current reading started."""

    def read_next_pages(self, call: Call) -> Sequence[Raw] | None:
        """Read the next pages. Return the entries of all lists when the last page has been read, else None.

        The reading starts again after ten minutes, also after an error. Raises TargetError.
        """
        now = self._clock.moment()
        if self._place is None and self._begun is not None and now.since(self._begun) < _AGAIN_AFTER:
            return None
        place, self._place, self._begun = self._place or (0, {}), None, now
        for _ in range(_PAGES_PER_CYCLE):
            following = self._read(place, call)
            if following is None:
                return self._reading
            place = following
        self._place = place
        return None

    def _read(self, place: tuple[int, Mapping[str, str]], call: Call) -> tuple[int, Mapping[str, str]] | None:
        number, token = place
        if place == (0, {}):
            self._reading = []
        one = self._lists[number]
        page = self._api.ask(one.service, one.operation, call, {**one.parameters, **token})
        with unavailable_if_malformed(one.operation):
            self._reading.extend(page[one.items])
        following = next_page(page)
        if following is not None:
            return number, following
        return (number + 1, {}) if number + 1 < len(self._lists) else None
