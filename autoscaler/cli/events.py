"""`autoscaler events`: lists events; equal ones are counted."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Annotated, Final

import typer

from autoscaler.cli.client import asking
from autoscaler.cli.options import OutputForm, Since, instant
from autoscaler.cli.output import Form, repeat, screen, show, show_document, warn
from autoscaler.layout import CYAN, GREEN, YELLOW, Screen, Table, clock, local
from autoscaler.model import Direction, EventType
from autoscaler.quantity import format_age
from autoscaler.view.events import EventDocument, EventList

_MAX_EVENTS: Final = 10_000
_OVERLAP: Final = timedelta(minutes=2)
"""The overlap of two requests with --follow: an event may be recorded after a younger one."""


def events(
    ctx: typer.Context,
    name: Annotated[str | None, typer.Argument(metavar="NAME", help="Only events of this autoscaler.")] = None,
    *,
    since: Since = "1h",
    follow: Annotated[bool, typer.Option("-f", "--follow", help="Keep printing new events, until Ctrl-C.")] = False,
    output: OutputForm = Form.TEXT,
) -> None:
    """List events, the newest last. Equal ones are counted: `12s (x5 over 96s)`.

    With --follow each new event has its own line, with its time.
    """
    begin = instant(since, "--since")
    if follow and output is not Form.TEXT:
        raise typer.BadParameter("cannot be combined with -o; leave one of them out", param_hint="--follow")
    with asking(ctx) as client:
        merged = "false" if follow else None
        found = client.get(EventList, "/events", name=name, since=begin, limit=_MAX_EVENTS, merged=merged)
        if output is not Form.TEXT:
            show_document(found, output)
            return
        shown = found.events
        if not shown and not follow:
            warn(["no events in this time; --since looks further back"])
            return
        table = EventTable(screen(), with_name=name is None, clock_times=follow)
        now = datetime.now(UTC)
        show([*table.header(shown, now), *table.rows(shown, now)])
        if found.since is not None:
            warn(
                [f"there are too many events to count them all; these are the newest, since {clock(found.since, now)}"]
            )
        if not follow:
            return

        def go_on() -> None:
            nonlocal shown
            since = max([begin, *(each.last - _OVERLAP for each in shown)])
            found = client.get(EventList, "/events", name=name, since=since, limit=_MAX_EVENTS, merged=merged)
            show(table.rows([each for each in found.events if each not in shown], datetime.now(UTC)))
            shown = found.events or shown

        repeat(go_on)


_COLOURS: Final[Mapping[Direction | None, str]] = {Direction.OUT: GREEN, Direction.IN: CYAN}


class EventTable:
    """Rows of events. Columns grow with their cells."""

    def __init__(self, screen: Screen, *, with_name: bool, described: bool = False, clock_times: bool = False) -> None:
        """`with_name`: with a column of the autoscalers' names. `described`: in the layout of `describe`.

        `clock_times`: with local times instead of ages.
        """
        names = ["AUTOSCALER"] if with_name else []
        self._described = described
        self._clock_times = clock_times
        self._with_name = with_name
        if described:
            self._table = Table(["Type", "Reason", "Age", "From", "Message"], screen, indent=2, gap=2, ruled=True)
        else:
            seen = "TIME" if clock_times else "LAST SEEN"
            self._table = Table([seen, "TYPE", "REASON", *names, "MESSAGE"], screen)

    def header(self, events: Iterable[EventDocument], now: datetime) -> list[str]:
        """Return the titles, above columns that are wide enough for these events."""
        self._table.fit([self._cells(each, now) for each in events])
        return self._table.header()

    def rows(self, events: Iterable[EventDocument], now: datetime) -> list[str]:
        """Return the lines of events."""
        lines = list[str]()
        for each in events:
            cells, marked = self._cells(each, now), (each.type.value, each.reason)
            colour = YELLOW if each.type is EventType.WARNING else _COLOURS.get(each.direction, "")
            lines += self._table.row(cells, [colour if cell in marked else "" for cell in cells])
        return lines

    def _cells(self, event: EventDocument, now: datetime) -> Sequence[str]:
        seen = clock(event.last, now) if self._clock_times else _ages(event, now)
        message, reason = local(event.message, now), event.reason
        if self._described:
            return (event.type.value, reason, seen, "dry-run" if event.dry_run else "autoscaler", message)
        text = f"(dry run) {message}" if event.dry_run else message
        names = [event.autoscaler] if self._with_name else []
        return (seen, event.type.value, reason, *names, text)


def _ages(event: EventDocument, now: datetime) -> str:
    """Return `12s (x5 over 96s)`, as kubectl writes it."""
    seen = format_age(now - event.last)
    return f"{seen} (x{event.count} over {format_age(now - event.first)})" if event.count > 1 else seen
