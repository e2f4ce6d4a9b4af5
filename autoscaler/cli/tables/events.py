"""Events in rows: those of `kubectl get events`, and those at the end of `kubectl describe`."""

from collections.abc import Iterable, Sequence
from datetime import datetime

from autoscaler.cli.tables.layout import YELLOW, Screen, Table, age
from autoscaler.documents.events import EventDocument
from autoscaler.text import clean


class EventTable:
    """Rows made from events. Columns grow with what they have held."""

    def __init__(self, screen: Screen, *, with_name: bool, described: bool = False) -> None:
        """`with_name`: a column says whose event it is. `described`: as a part of `describe`."""
        names = ["AUTOSCALER"] if with_name else []
        header = ["Type", "Reason", "Age", "From", "Message"] if described else []
        self._described = described
        self._with_name = with_name
        indent, gap = (2, 2) if described else (0, 3)
        self._table = Table(header or ["LAST SEEN", "TYPE", "REASON", *names, "MESSAGE"], screen, indent, gap)

    def header(self, events: Iterable[EventDocument], now: datetime) -> list[str]:
        """The titles, over columns wide enough for these."""
        self._table.fit([self._cells(each, now) for each in events])
        return [self._table.header(), *([self._table.rule()] if self._described else [])]

    def rows(self, events: Iterable[EventDocument], now: datetime) -> list[str]:
        """Their lines."""
        return [line for each in events for line in self._row(each, now)]

    def _row(self, event: EventDocument, now: datetime) -> list[str]:
        cells = self._cells(event, now)
        return self._table.row(cells, [YELLOW if cell == "Warning" else "" for cell in cells])

    def _cells(self, event: EventDocument, now: datetime) -> Sequence[str]:
        seen = age(now - event.last)
        if event.count > 1:
            seen += f" (x{event.count} over {age(now - event.first)})"
        message, reason = clean(event.message), clean(event.reason)
        if self._described:
            return (event.type.value, reason, seen, "dry-run" if event.dry_run else "autoscaler", message)
        text = f"(dry run) {message}" if event.dry_run else message
        names = [clean(event.autoscaler)] if self._with_name else []
        return (seen, event.type.value, reason, *names, text)
