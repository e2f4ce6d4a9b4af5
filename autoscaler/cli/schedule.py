"""`autoscaler schedule`: shows what schedules will change."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Annotated, Final

import typer

from autoscaler.cli.options import OutputForm
from autoscaler.cli.output import Form, exit_on_error, screen, show, show_document
from autoscaler.cli.source import unknown
from autoscaler.config import load
from autoscaler.errors import QuantityError
from autoscaler.foresee.schedule import scheduled_changes
from autoscaler.layout import Table
from autoscaler.model import Autoscaler
from autoscaler.quantity import parse_duration
from autoscaler.times import parse_instant
from autoscaler.view.schedule import Calendar, ScheduledChangeDocument, calendar

_MAX_SPAN: Final = timedelta(days=366)
_HEADER: Final = ("UTC", "LOCAL", "NAME", "MIN", "MAX", "SCHEDULE")


def schedule(
    name: Annotated[str | None, typer.Argument(metavar="NAME", help="Only changes of this autoscaler.")] = None,
    *,
    begin: Annotated[
        str, typer.Option("--from", metavar="TIME", help="The start, as in 2026-11-27T00:00.", show_default="now")
    ] = "",
    until: Annotated[
        str, typer.Option("--until", metavar="TIME", help="The end, or the time from the start, as in 30d.")
    ] = "7d",
    output: OutputForm = Form.TEXT,
    config_file: Annotated[Path, typer.Option("--config.file", metavar="FILE", help="The configuration.")] = Path(
        "/etc/autoscaler/autoscaler.yaml"
    ),
) -> None:
    """Show when the schedules of a configuration will change the bounds of autoscalers.

    MIN and MAX: the bounds before and after, without overrides and the target's own limits. SCHEDULE: the entries that
    open or close then. LOCAL: the time in the first entry's zone.
    """
    start, end = _span(begin, until)
    with exit_on_error():
        scalers = _chosen(load(config_file).autoscalers, name)
        changes = [(scaler.name, change) for scaler in scalers for change in scheduled_changes(scaler, start, end)]
    found = calendar(changes, start, end)
    if output is not Form.TEXT:
        show_document(found, output)
        return
    if not found.changes:
        typer.echo("no schedule changes a bound in this time; --until looks further ahead", err=True)
        return
    show(Table(_HEADER, screen()).lines(_rows(found)))


def _span(begin: str, until: str) -> tuple[datetime, datetime]:
    """Return the times of `--from` and `--until`. Raises typer.BadParameter."""
    start = _time(begin, "--from") if begin else datetime.now(UTC).replace(microsecond=0)
    try:
        end = start + min(parse_duration(until), _MAX_SPAN * 2)
    except QuantityError:
        end = _time(until, "--until")
    if not start < end <= start + _MAX_SPAN:
        raise typer.BadParameter("must be after --from, by at most 366d", param_hint="--until")
    return start, end


def _time(text: str, option: str) -> datetime:
    try:
        return parse_instant(text)
    except ValueError as error:
        raise typer.BadParameter(f"{error}; write it as in 2026-11-27T00:00", param_hint=option) from None


def _chosen(scalers: Sequence[Autoscaler], name: str | None) -> Sequence[Autoscaler]:
    found = [scaler for scaler in scalers if name in (None, scaler.name)]
    if name is not None and not found:
        raise unknown(name, [scaler.name for scaler in scalers])
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
