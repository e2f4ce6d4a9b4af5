"""`autoscaler schedule`: shows what schedules will change."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Annotated, Final

import typer

from autoscaler.cli.find_daemon import configuration
from autoscaler.cli.options import ConfigFile, OutputForm, Since, Until, span
from autoscaler.cli.output import Form, exit_on_error, screen, show, show_document
from autoscaler.errors import AutoscalerError
from autoscaler.fields.types import suggest
from autoscaler.foresee.schedule import scheduled_changes
from autoscaler.layout import Table
from autoscaler.model import Autoscaler
from autoscaler.view.schedule import Calendar, ScheduledChangeDocument, calendar

_MAX_SPAN: Final = timedelta(days=366)
_HEADER: Final = ("UTC", "LOCAL", "NAME", "MIN", "MAX", "SCHEDULE")


def schedule(
    name: Annotated[str | None, typer.Argument(metavar="NAME", help="Only changes of this autoscaler.")] = None,
    *,
    since: Since = "now",
    until: Until = "+7d",
    output: OutputForm = Form.TEXT,
    config_file: ConfigFile = None,
) -> None:
    """Show when the schedules of a configuration will change the bounds of autoscalers.

    MIN and MAX: the bounds before and after, without overrides and the target's own limits. SCHEDULE: the entries that
    open or close then. LOCAL: the time in the first entry's zone.
    """
    start, end = _span(since, until)
    with exit_on_error():
        scalers = _chosen(configuration(config_file).autoscalers, name)
        changes = [(scaler.name, change) for scaler in scalers for change in scheduled_changes(scaler, start, end)]
    found = calendar(changes, start, end)
    if output is not Form.TEXT:
        show_document(found, output)
        return
    if not found.changes:
        typer.echo("no schedule changes a bound in this time; --until looks further ahead", err=True)
        return
    show(Table(_HEADER, screen()).lines(_rows(found)))


def _span(since: str, until: str) -> tuple[datetime, datetime]:
    """Return the times of `--since` and `--until`. Raises typer.BadParameter."""
    start, end = span(since, until)
    if end > start + _MAX_SPAN:
        raise typer.BadParameter("must be at most 366d after --since", param_hint="--until")
    return start.replace(microsecond=0), end


def _chosen(scalers: Sequence[Autoscaler], name: str | None) -> Sequence[Autoscaler]:
    found = [scaler for scaler in scalers if name in (None, scaler.name)]
    if name is not None and not found:
        raise AutoscalerError(
            f"no autoscaler {name[:64]!r} is configured; {suggest(name, [one.name for one in scalers])}"
        )
    return found


def _rows(found: Calendar) -> list[tuple[str, ...]]:
    return [
        (
            f"{each.at:%Y-%m-%d %H:%M}",
            f"{each.local:%a %H:%M} {each.timezone}",
            each.autoscaler,
            _bound(each.before.minimum, each.after.minimum),
            _bound(each.before.maximum, each.after.maximum),
            _entries(each),
        )
        for each in found.changes
    ]


def _bound(before: int, after: int) -> str:
    return str(after) if before == after else f"{before} -> {after}"


def _entries(change: ScheduledChangeDocument) -> str:
    return ", ".join([*(f"{name} opens" for name in change.opened), *(f"{name} closes" for name in change.closed)])
