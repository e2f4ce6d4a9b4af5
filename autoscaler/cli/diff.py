"""`autoscaler diff`: what another configuration would change."""

from collections.abc import Collection, Iterable, Sequence
from pathlib import Path
from typing import Annotated, NamedTuple

import typer

from autoscaler.cli.options import DEFAULT_SERVER, ConfigFile, HttpConfigFile, ServerUrl
from autoscaler.cli.output import Form, exit_on_error, screen, show, show_document
from autoscaler.cli.running import running
from autoscaler.cli.source import Where, unknown
from autoscaler.cli.tables.changes import block, last_lines
from autoscaler.config import Settings, load
from autoscaler.documents.changes import diff_document
from autoscaler.foresee.changes import changes_of, section_changes
from autoscaler.model import Autoscaler
from autoscaler.text import clean


def diff(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The configuration that is to be loaded next.")],
    names: Annotated[
        list[str] | None, typer.Argument(metavar="NAME", help="Only these autoscalers. Default: all that change.")
    ] = None,
    *,
    against: Annotated[
        Path | None,
        typer.Option("--against", metavar="FILE", help="The configuration before. Default: the one that runs."),
    ] = None,
    output: Annotated[Form, typer.Option("-o", "--output", metavar="FORMAT", help="text, json or yaml.")] = Form.TEXT,
    server: ServerUrl = DEFAULT_SERVER,
    http_config_file: HttpConfigFile = None,
    config_file: ConfigFile = None,
) -> None:
    """Show what a configuration would change, before it is loaded: every key of each autoscaler with another value.

    It is set against the configuration that runs: the daemon says which autoscalers it has, and its state as what each
    was last decided. With --against it is set against another file, and neither is asked.
    """
    with exit_on_error():
        new = load(file)
        before = _running(Where(server, http_config_file, config_file), file) if against is None else _loaded(against)
        after = [scaler for scaler in new.autoscalers if scaler.name not in before.left_out]
        chosen = _chosen(names, [*before.scalers, *after])
        changes = [each for each in changes_of(before.scalers, after) if each.name in chosen]
        sections = None if before.settings is None else section_changes(before.settings, new)
        document = diff_document(before.label, str(file), sections, changes, len(chosen) - len(changes))
        if output is not Form.TEXT:
            show_document(document, output)
            return
        on = screen()
        for each in document.autoscalers:
            show([*block(each, on), ""])
        show(last_lines(document))


class _Before(NamedTuple):
    """What the file is set against."""

    label: str
    scalers: Sequence[Autoscaler]
    settings: Settings | None = None
    """None: it is what runs, which is known by its autoscalers alone."""
    left_out: Collection[str] = ()
    """Names of autoscalers that nothing can be said about."""


def _loaded(path: Path) -> _Before:
    settings = load(path)
    return _Before(str(path), settings.autoscalers, settings)


def _running(where: Where, new: Path) -> _Before:
    found = running(where, new)
    for note in found.notes:
        typer.echo(clean(note), err=True)
    return _Before("what runs now", tuple(found.scalers.values()), left_out=found.unreadable)


def _chosen(names: Sequence[str] | None, scalers: Iterable[Autoscaler]) -> frozenset[str]:
    """The names asked for. Raises UnknownName."""
    known = frozenset(scaler.name for scaler in scalers)
    for name in names or ():
        if name not in known:
            raise unknown(name, known)
    return frozenset(names or known)
