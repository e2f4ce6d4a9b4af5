"""`autoscaler schedule`: shows what schedules will change."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Annotated, Final

import typer

from autoscaler.cli.find_daemon import configuration
from autoscaler.cli.options import ConfigFile, OutputForm, Since, Until, span
from autoscaler.cli.output import Form, exit_on_error, show_found
from autoscaler.document import Document
from autoscaler.errors import AutoscalerError
from autoscaler.fields.types import suggest
from autoscaler.foresee.schedule import ScheduledChange, scheduled_changes
from autoscaler.layout import Screen, Table
from autoscaler.model import Autoscaler

_MAX_SPAN: Final = timedelta(days=366)
_HEADER: Final = ("UTC", "LOCAL", "NAME", "MIN", "MAX", "SCHEDULE")


class Calendar(Document):
    """Every change in a time."""

    begin: datetime
    end: datetime
    changes: tuple[ScheduledChange, ...]


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
        changes = [change for scaler in scalers for change in scheduled_changes(scaler, start, end)]
    ordered = tuple(sorted(changes, key=lambda each: (each.at, each.autoscaler)))
    found = Calendar(begin=start, end=end, changes=ordered)
    show_found(found, output, _lines, "no schedule changes a bound in this time; --until looks further ahead")


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


def _lines(found: Calendar, _: datetime, screen: Screen) -> Sequence[str]:
    rows = [
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
    return Table(_HEADER, screen).lines(rows)


def _bound(before: int, after: int) -> str:
    return str(after) if before == after else f"{before} -> {after}"


def _entries(change: ScheduledChange) -> str:
    return ", ".join([*(f"{name} opens" for name in change.opened), *(f"{name} closes" for name in change.closed)])
