"""`autoscaler diff`: what another configuration would change."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Final, NamedTuple

import typer

from autoscaler.cli.options import HttpConfigFile, OutputForm, ServerUrl, Since, StateConfigFile, moment
from autoscaler.cli.output import Form, exit_on_error, screen, show, show_document, show_error
from autoscaler.cli.running import running
from autoscaler.cli.source import Where, state_place, unknown
from autoscaler.config import Settings, load
from autoscaler.errors import AutoscalerError, StateError
from autoscaler.model import Autoscaler
from autoscaler.record import Archive
from autoscaler.text import clean
from autoscaler.whatif.changes import AutoscalerChanges, changes_of, section_changes
from autoscaler.whatif.commands.pasts import Sources, past_of
from autoscaler.whatif.commands.replay import compare_with_progress, labels, limits_of
from autoscaler.whatif.documents.changes import AutoscalerChangesDocument, DiffDocument
from autoscaler.whatif.documents.replay import ReplayDocument, replay_document
from autoscaler.whatif.replay.replay import Candidate
from autoscaler.whatif.tables.changes import block, last_lines

_MOST_REPLAYED: Final = 20
"""Autoscalers: each takes seconds."""
_POINTS: Final = 200
"""Of the series of a replay. Charts are in `replay --html`."""


def diff(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The configuration to load next.")],
    names: Annotated[
        list[str] | None, typer.Argument(metavar="NAME", help="Only these autoscalers. Default: all that change.")
    ] = None,
    *,
    against: Annotated[
        Path | None,
        typer.Option("--against", metavar="FILE", help="The configuration before. Default: the one that runs."),
    ] = None,
    since: Since = "24h",
    no_replay: Annotated[bool, typer.Option("--no-replay", help="Show only what changes; replay nothing.")] = False,
    exit_code: Annotated[
        bool,
        typer.Option("--exit-code", help="Exit 1 if something changes, 0 if nothing does, 2 if the comparison fails."),
    ] = False,
    output: OutputForm = Form.TEXT,
    server: ServerUrl = None,
    http_config_file: HttpConfigFile = None,
    config_file: StateConfigFile = None,
) -> None:
    """Show what a configuration would change before it is loaded: every key of each autoscaler with a different value.

    It is compared with the running configuration: the daemon names its autoscalers, and its state has the configuration
    of each. With --against it is compared with another file, and the daemon is not needed.

    If sizes could differ, the last 24 h are replayed with both configurations, with the load conserved. The demand is
    by the metrics and targets of the configuration before.
    """
    begin, end = moment(since, "--since"), datetime.now(UTC)
    if begin >= end:
        raise typer.BadParameter("has to be in the past", param_hint="--since")
    with exit_on_error(2 if exit_code else 1):
        new = load(file)
        where = Where(server, http_config_file, config_file)
        before = _running(where, file) if against is None else _loaded(against, config_file or against)
        after = [scaler for scaler in new.autoscalers if scaler.name not in before.left_out]
        chosen = _chosen(names, [*before.scalers, *after])
        changes = [each for each in changes_of(before.scalers, after) if each.name in chosen]
        sections = None if before.settings is None else tuple(section_changes(before.settings, new))
        replays = {} if no_replay else _replayed(changes, before, file, new, (begin, end))
        document = DiffDocument(
            before=before.label,
            after=str(file),
            sections=sections,
            autoscalers=tuple([AutoscalerChangesDocument.of(each, replay=replays.get(each.name)) for each in changes]),
            unchanged=len(chosen) - len(changes),
        )
        if output is Form.TEXT:
            on = screen()
            for each in document.autoscalers:
                show([*block(each, on), ""])
            show(last_lines(document))
        else:
            show_document(document, output)
    if exit_code and (changes or sections):
        raise typer.Exit(1)


class _Before(NamedTuple):
    """The configuration before."""

    label: str
    config: Path
    """The file that says where the state is."""
    scalers: Sequence[Autoscaler]
    settings: Settings | None = None
    """None: the running one, of which only the autoscalers are known."""
    left_out: Collection[str] = ()
    """Names of autoscalers of which nothing is known."""


def _loaded(path: Path, config: Path) -> _Before:
    settings = load(path)
    return _Before(str(path), config, settings.autoscalers, settings)


def _running(where: Where, new: Path) -> _Before:
    found = running(where, new)
    for note in found.notes:
        typer.echo(clean(note), err=True)
    return _Before("what runs now", found.config, tuple(found.scalers.values()), left_out=found.unreadable)


def _replayed(
    changes: Iterable[AutoscalerChanges], before: _Before, file: Path, new: Settings, times: tuple[datetime, datetime]
) -> Mapping[str, ReplayDocument]:
    """The replays of the autoscalers whose sizes could be different, by name. Failures are shown on stderr."""
    deciding = [each for each in changes if each.decides_otherwise]
    found = dict[str, ReplayDocument]()
    if not deciding:
        return found
    names = ("now", file.name) if before.settings is None else labels(Path(before.label), file)
    try:
        url, folder, _ = state_place(before.config)
        with Archive.open_archive(url, folder) as archive:
            sources = Sources(archive, new)
            for each in deciding[:_MOST_REPLAYED]:
                pair = (each.before, before.settings or new), (each.after, new)
                candidates = [
                    Candidate(label, scaler, limits=limits_of(scaler, settings))
                    for label, (scaler, settings) in zip(names, pair, strict=True)
                    if scaler is not None
                ]
                try:
                    past = past_of(sources, candidates[-1].scaler, *times, [candidates[0].scaler])
                    found[each.name] = replay_document(compare_with_progress(past, candidates, *times), most=_POINTS)
                except AutoscalerError as error:  # the others are still replayed
                    show_error(error)
    except StateError as error:
        typer.echo(f"the past is not replayed: {clean(str(error))}", err=True)
    if len(deciding) > _MOST_REPLAYED:
        typer.echo(f"{len(deciding) - _MOST_REPLAYED} more are not replayed; name them to replay them", err=True)
    return found


def _chosen(names: Sequence[str] | None, scalers: Iterable[Autoscaler]) -> frozenset[str]:
    """The given names, or all. Raises UnknownName."""
    known = frozenset(scaler.name for scaler in scalers)
    for name in names or ():
        if name not in known:
            raise unknown(name, known)
    return frozenset(names or known)
