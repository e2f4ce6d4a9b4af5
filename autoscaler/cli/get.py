"""`autoscaler get`: lists autoscalers."""

import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from enum import StrEnum
from typing import Annotated, Final

import typer

from autoscaler.cli.client import Client, asking
from autoscaler.cli.discovered import discovered_rows, discovery_notes
from autoscaler.cli.listing import HEADER, WIDE_HEADER, cells, colours, notes
from autoscaler.cli.options import SelectorText, selector
from autoscaler.cli.output import Form, repeat, screen, show, show_document, warn
from autoscaler.document import Document
from autoscaler.errors import AutoscalerError
from autoscaler.labels import Selector
from autoscaler.layout import Table
from autoscaler.view.discovered import DiscoveredList
from autoscaler.view.level import Level
from autoscaler.view.summary import AutoscalerList, Summary


class UnknownSize(AutoscalerError):
    """A size was asked for that the daemon could not read."""


_PAGE: Final = 2_500
"""Autoscalers in one answer. The daemon would need a hundred MiB for ten thousand."""
_ANY_TIME: Final = datetime(1970, 1, 1, tzinfo=UTC)


class Output(StrEnum):
    """The formats of `-o`."""

    TABLE = "table"
    WIDE = "wide"
    JSON = "json"
    YAML = "yaml"
    NAME = "name"
    SIZE = "size"


def get(
    ctx: typer.Context,
    names: Annotated[list[str] | None, typer.Argument(metavar="NAME", help="The autoscalers. Default: all.")] = None,
    *,
    labels: SelectorText = None,
    output: Annotated[
        Output,
        typer.Option(
            "-o",
            "--output",
            metavar="FORMAT",
            help="table; wide: also all metrics, the desired size and the state; json; yaml; "
            "name: the names alone; size: the requested sizes alone.",
        ),
    ] = Output.TABLE,
    discovered: Annotated[
        bool, typer.Option("--discovered", help="List the policies that were discovered, and why some are refused.")
    ] = False,
    no_headers: Annotated[bool, typer.Option("--no-headers", help="Leave out the table's first line.")] = False,
    watch: Annotated[bool, typer.Option("-w", "--watch", help="Keep printing rows that change, until Ctrl-C.")] = False,
) -> None:
    """List autoscalers in the columns of `kubectl get hpa`.

    TARGETS: current/target of the first two metrics. MIN and MAX: the bounds in force. REPLICAS: the target's requested
    size. READY: the instances that run and are ready. WHY: the last decision's cause and result. Below the table, on
    stderr: overrides, and a reload that was refused.
    """
    _refuse_combinations(names, labels, output, watch=watch, discovered=discovered)
    chosen = selector(labels)
    with asking(ctx) as client:
        if discovered:
            _show_discovered(client.get(DiscoveredList, "/status/discovered"), output, header=not no_headers)
            return

        listed = listed_autoscalers(client, names, chosen)
        found = listed.autoscalers
        if output in (Output.JSON, Output.YAML):
            show_document(listed, Form(output.value))
            return
        if output is Output.NAME:
            show(each.name for each in found)
            return
        if output is Output.SIZE:
            show(str(_size(each)) for each in found)
            return
        listing = _Listing(HEADER if output is Output.TABLE else WIDE_HEADER, client)
        listing.show(listed, titles=not no_headers and (watch or bool(found)))
        if watch:
            repeat(lambda: listing.show(listed_autoscalers(client, names, chosen)))
        if not found:
            which = "are configured or remembered" if chosen is None else f"have labels that match {chosen.text!r}"
            warn([f"no autoscalers {which}"])


def _refuse_combinations(
    names: Sequence[str] | None, labels: str | None, output: Output, *, watch: bool, discovered: bool
) -> None:
    """Raise typer.BadParameter for options that exclude each other."""
    if names and labels is not None:
        raise typer.BadParameter("cannot be combined with names; give one of the two", param_hint="--selector")
    if watch and output not in (Output.TABLE, Output.WIDE):
        raise typer.BadParameter(f"can only be combined with -o wide; leave out -o {output}", param_hint="--watch")
    if discovered and (names or labels is not None or watch or output in (Output.NAME, Output.SIZE)):
        raise typer.BadParameter("can only be combined with -o wide, json or yaml", param_hint="--discovered")


def listed_autoscalers(
    client: Client, names: Sequence[str] | None = None, chosen: Selector | None = None
) -> AutoscalerList:
    """Return the autoscalers with these names, in their order; without names those whose labels match, by name."""
    alone = names[0] if names and len(set(names)) == 1 else ""  # one does not need an answer about the whole fleet
    fits, found = None if chosen is None else chosen.text, list[Summary]()
    while True:
        page = client.get(
            AutoscalerList, "/autoscalers", offset=len(found), limit=_PAGE, name=alone, labelSelector=fits
        )
        found += page.autoscalers
        if len(found) >= page.total or not page.autoscalers:
            break
    if names:
        known = {each.name: each for each in found}
        for unknown in dict.fromkeys(names) - known.keys():
            client.get(Document, "/autoscalers/{name}", unknown)  # which says which names are near
        found = [known[name] for name in dict.fromkeys(names) if name in known]
    return AutoscalerList(autoscalers=tuple(found), total=len(found), refused_reload=page.refused_reload, led=page.led)


def _show_discovered(found: DiscoveredList, output: Output, *, header: bool) -> None:
    if output in (Output.JSON, Output.YAML):
        show_document(found, Form(output.value))
        return
    show(discovered_rows(found, screen(), wide=output is Output.WIDE, header=header))
    notes_below = [*discovery_notes(found)] if found.connections or found.files else ["no connection has `discover`"]
    warn(notes_below)


def _size(found: Summary) -> int:
    """Return the size that is asked for. A deployment must not go on without it."""
    if found.current is None:
        raise UnknownSize(f"the size of {found.name} is unknown: {found.error or 'it was not read yet'}")
    return found.current


class _Listing:
    """The table, and the lines below it on stderr."""

    def __init__(self, header: Sequence[str], client: Client) -> None:
        self._header, self._client = header, client
        self._table = Table(header, screen())
        self._before: AutoscalerList | None = None
        """What was shown last."""

    def show(self, listed: AutoscalerList, *, titles: bool = False) -> None:
        """Show the rows and the lines below them in which more than an age has changed since the last call."""
        now, before = datetime.now(UTC), self._before
        known = frozenset([self._cells(each, _ANY_TIME) for each in before.autoscalers] if before is not None else ())
        found = [each for each in listed.autoscalers if not known or self._cells(each, _ANY_TIME) not in known]
        rows = [self._cells(each, now) for each in found]
        self._table.fit(rows)
        lines = self._table.header() if titles else []
        for each, row in zip(found, rows, strict=True):
            lines += self._table.row(self._fitting(each, row), colours(each.level, self._header))
        show(lines)
        told = () if before is None else notes(before, _ANY_TIME)
        below = [
            line for line, key in zip(notes(listed, now), notes(listed, _ANY_TIME), strict=True) if key not in told
        ]
        if below and sys.stderr.isatty():
            typer.echo(err=True)  # an empty line between them and the table on the same screen
        warn(line for text in below for line in self._table.screen.wrap(text, 0, 2))
        self._before = listed

    def _cells(self, found: Summary, now: datetime) -> tuple[str, ...]:
        age_at = min(now, self._client.known_until)  # a daemon that is gone makes no autoscaler older
        return cells(found, now, self._header, age_at)

    def _fitting(self, found: Summary, row: Sequence[str]) -> Sequence[str]:
        """Return the row; without WHY if that stands below and needs no action."""
        return row if self._table.has_room or found.level in (Level.ERROR, Level.WARNING) else (*row[:-1], "")
