"""`autoscaler get`: lists autoscalers."""

import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from enum import StrEnum
from typing import Annotated, Final

import typer

from autoscaler.cli.client import Client, asking
from autoscaler.cli.options import SelectorText, selector
from autoscaler.cli.output import Form, repeat, screen, show, show_document
from autoscaler.cli.tables.discovered import discovered_rows, discovery_notes
from autoscaler.cli.tables.listing import HEADER, WIDE_HEADER, cells, colours
from autoscaler.cli.tables.notes import notes
from autoscaler.document import Document
from autoscaler.errors import AutoscalerError
from autoscaler.labels import Selector
from autoscaler.layout import Table
from autoscaler.text import plain
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

        listed = _listed(client, names, chosen)
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
        below = _Notes()
        if not found and not watch:
            below.show(listed)
            which = "are configured or remembered" if chosen is None else f"have labels that match {chosen.text!r}"
            typer.echo(f"no autoscalers {which}", err=True)
            return
        listing = _Listing(HEADER if output is Output.TABLE else WIDE_HEADER, client)
        listing.begin(found, header=not no_headers)
        below.show(listed)

        def go_on() -> None:
            now_there = _listed(client, names, chosen)
            listing.go_on(now_there.autoscalers)
            below.show(now_there)

        if watch:
            repeat(go_on)


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


def _listed(client: Client, names: Sequence[str] | None, chosen: Selector | None) -> AutoscalerList:
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
    for line in notes_below:
        typer.echo(plain(line), err=True)


def _size(found: Summary) -> int:
    """Return the size that is asked for. A deployment must not go on without it."""
    if found.current is None:
        raise UnknownSize(f"the size of {found.name} is unknown: {found.error or 'it was not read yet'}")
    return found.current


class _Listing:
    """The table."""

    def __init__(self, header: Sequence[str], client: Client) -> None:
        self._header, self._client = header, client
        self._table = Table(header, screen())
        self._shown: Sequence[Summary] = ()

    def begin(self, found: Sequence[Summary], *, header: bool) -> None:
        """Show the header, if requested, and every row."""
        rows = self._rows(found, datetime.now(UTC))
        self._table.fit(rows)
        show([*([self._table.header()] if header else []), *self._lines(found, rows)])
        self._shown = found

    def go_on(self, found: Sequence[Summary]) -> None:
        """Show the rows in which more than the age has changed."""
        before, after = (self._rows(each, _ANY_TIME) for each in (self._shown, found))
        known = frozenset(before)
        changed = [each for each, row in zip(found, after, strict=True) if row not in known]
        show(self._lines(changed, self._rows(changed, datetime.now(UTC))))
        self._shown = found

    def _rows(self, found: Sequence[Summary], now: datetime) -> Sequence[tuple[str, ...]]:
        age_at = min(now, self._client.known_until)  # a daemon that is gone makes no autoscaler older
        return [cells(each, now, self._header, age_at) for each in found]

    def _lines(self, found: Sequence[Summary], rows: Sequence[tuple[str, ...]]) -> list[str]:
        return [
            line
            for each, row in zip(found, rows, strict=True)
            for line in self._table.row(self._fitting(each, row), colours(each.level, self._header))
        ]

    def _fitting(self, found: Summary, row: Sequence[str]) -> Sequence[str]:
        """Return the row; without WHY if that stands below and needs no action."""
        return row if self._table.has_room or found.level in (Level.ERROR, Level.WARNING) else (*row[:-1], "")


class _Notes:
    """The lines below the table, on stderr."""

    def __init__(self) -> None:
        self._shown: Sequence[str] = ()

    def show(self, listed: AutoscalerList) -> None:
        """Show the lines that were not shown last time, without regard to their ages."""
        on, begun = screen(), False
        found, refused, led = listed.autoscalers, listed.refused_reload, listed.led
        lines = notes(found, refused, datetime.now(UTC), led=led)
        without_ages = notes(found, refused, _ANY_TIME, led=led)
        for line, key in zip(lines, without_ages, strict=True):
            if key not in self._shown:
                if not begun and sys.stderr.isatty():
                    typer.echo(err=True)  # an empty line between them and the table on the same screen
                begun = True
                typer.echo("\n".join(on.wrap(line, 0, 2)), err=True)
        self._shown = without_ages
