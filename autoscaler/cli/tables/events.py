"""Events in rows, as in `kubectl get events` and at the end of `kubectl describe`."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Final

from autoscaler.layout import CYAN, GREEN, YELLOW, Screen, Table, clock, local
from autoscaler.model import Direction, EventType
from autoscaler.quantity import format_age
from autoscaler.text import clean
from autoscaler.view.events import EventDocument

_COLOURS: Final[Mapping[Direction | None, str]] = {Direction.OUT: GREEN, Direction.IN: CYAN}


class EventTable:
    """Rows of events. Columns grow with their cells."""

    def __init__(self, screen: Screen, *, with_name: bool, described: bool = False, clock_times: bool = False) -> None:
        """`with_name`: with a column of the autoscalers' names. `described`: in the layout of `describe`.

        `clock_times`: with local times instead of ages.
        """
        names = ["AUTOSCALER"] if with_name else []
        header = ["Type", "Reason", "Age", "From", "Message"] if described else []
        self._described = described
        self._clock_times = clock_times
        self._with_name = with_name
        indent, gap = (2, 2) if described else (0, 3)
        self._table = Table(
            header or ["TIME" if clock_times else "LAST SEEN", "TYPE", "REASON", *names, "MESSAGE"], screen, indent, gap
        )

    def header(self, events: Iterable[EventDocument], now: datetime) -> list[str]:
        """Return the titles, above columns that are wide enough for these events."""
        self._table.fit([self._cells(each, now) for each in events])
        return [self._table.header(), *([self._table.rule()] if self._described else [])]

    def rows(self, events: Iterable[EventDocument], now: datetime) -> list[str]:
        """Return the lines of events."""
        return [line for each in events for line in self._row(each, now)]

    def _row(self, event: EventDocument, now: datetime) -> list[str]:
        cells = self._cells(event, now)
        colour = YELLOW if event.type is EventType.WARNING else _COLOURS.get(event.direction, "")
        marked = (event.type.value, event.reason)
        return self._table.row(cells, [colour if cell in marked else "" for cell in cells])

    def _cells(self, event: EventDocument, now: datetime) -> Sequence[str]:
        seen = clock(event.last, now) if self._clock_times else _ages(event, now)
        message, reason = local(clean(event.message), now), clean(event.reason)
        if self._described:
            return (event.type.value, reason, seen, "dry-run" if event.dry_run else "autoscaler", message)
        text = f"(dry run) {message}" if event.dry_run else message
        names = [clean(event.autoscaler)] if self._with_name else []
        return (seen, event.type.value, reason, *names, text)


def _ages(event: EventDocument, now: datetime) -> str:
    """Return `12s (x5 over 96s)`, as kubectl writes it."""
    seen = format_age(now - event.last)
    return f"{seen} (x{event.count} over {format_age(now - event.first)})" if event.count > 1 else seen
