"""`autoscaler events`: lists events; equal ones are counted."""

from datetime import UTC, datetime, timedelta
from typing import Annotated, Final

import typer

from autoscaler.cli.client import asking
from autoscaler.cli.options import OutputForm, Since, moment
from autoscaler.cli.output import Form, repeat, screen, show, show_document
from autoscaler.cli.tables.events import EventTable
from autoscaler.view.events import EventList

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
    begin = moment(since, "--since")
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
            typer.echo("no events in this time; --since looks further back", err=True)
            return
        table = EventTable(screen(), with_name=name is None, clock_times=follow)
        now = datetime.now(UTC)
        show([*table.header(shown, now), *table.rows(shown, now)])
        if not follow:
            return

        def go_on() -> None:
            nonlocal shown
            since = max([begin, *(each.last - _OVERLAP for each in shown)])
            found = client.get(EventList, "/events", name=name, since=since, limit=_MAX_EVENTS, merged=merged)
            show(table.rows([each for each in found.events if each not in shown], datetime.now(UTC)))
            shown = found.events or shown

        repeat(go_on)
