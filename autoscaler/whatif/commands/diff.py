"""`autoscaler diff`: what another configuration would change."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Final, NamedTuple

import typer

from autoscaler.cli.options import TIME_FORMS, HttpConfigFile, ServerUrl, StateConfigFile, moment
from autoscaler.cli.output import Form, exit_on_error, screen, show, show_document, show_error
from autoscaler.cli.running import running
from autoscaler.cli.source import Where, state_place, unknown
from autoscaler.config import Settings, load
from autoscaler.errors import AutoscalerError, StateError
from autoscaler.model import Autoscaler
from autoscaler.record import Archive
from autoscaler.text import clean
from autoscaler.whatif.changes import AutoscalerChanges, changes_of, section_changes
from autoscaler.whatif.commands.pasts import Sources, source_of
from autoscaler.whatif.commands.replay import followed, labels, limits_of
from autoscaler.whatif.compare.comparison import Candidate
from autoscaler.whatif.documents.changes import diff_document
from autoscaler.whatif.documents.replay import ReplayDocument, replay_document
from autoscaler.whatif.tables.changes import block, last_lines

_NOW: Final = "now"
_MOST_REPLAYED: Final = 20
"""Autoscalers: each takes seconds."""
_POINTS: Final = 200
"""Of a replay's series: a chart is what `replay --html` is for."""


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
    since: Annotated[
        str, typer.Option("--since", metavar="TIME", help=f"Replay what happened since then: {TIME_FORMS}.")
    ] = "24h",
    no_replay: Annotated[bool, typer.Option("--no-replay", help="Replay nothing: show what changes alone.")] = False,
    exit_code: Annotated[
        bool,
        typer.Option("--exit-code", help="Exit 1 if something changes, 0 if nothing does, 2 if the comparison fails."),
    ] = False,
    output: Annotated[Form, typer.Option("-o", "--output", metavar="FORMAT", help="text, json or yaml.")] = Form.TEXT,
    server: ServerUrl = None,
    http_config_file: HttpConfigFile = None,
    config_file: StateConfigFile = None,
) -> None:
    """Show what a configuration would change, before it is loaded: every key of each autoscaler with another value.

    It is set against the configuration that runs: the daemon says which autoscalers it has, and its state as what each
    was last decided. With --against it is set against another file, and the daemon is not asked.

    Where sizes could be other ones, the last 24 h are replayed with both, under a conserved load. What was needed is
    told by the metrics and targets of the configuration before.
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
        sections = None if before.settings is None else section_changes(before.settings, new)
        replays = {} if no_replay else _replayed(changes, _Replay(before, file, new, begin, end))
        document = diff_document(before.label, str(file), sections, changes, len(chosen) - len(changes), replays)
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
    """What the file is set against."""

    label: str
    config: Path
    """The file that says where the state is."""
    scalers: Sequence[Autoscaler]
    settings: Settings | None = None
    """None: it is what runs, which is known by its autoscalers alone."""
    left_out: Collection[str] = ()
    """Names of autoscalers that nothing can be said about."""


def _loaded(path: Path, config: Path) -> _Before:
    settings = load(path)
    return _Before(str(path), config, settings.autoscalers, settings)


def _running(where: Where, new: Path) -> _Before:
    found = running(where, new)
    for note in found.notes:
        typer.echo(clean(note), err=True)
    return _Before("what runs now", found.config, tuple(found.scalers.values()), left_out=found.unreadable)


class _Replay(NamedTuple):
    """What is replayed, and over which time."""

    before: _Before
    file: Path
    new: Settings
    since: datetime
    until: datetime

    @property
    def labels(self) -> tuple[str, str]:
        """Of the configuration before, and of the one after."""
        return (_NOW, self.file.name) if self.before.settings is None else labels(Path(self.before.label), self.file)


def _replayed(changes: Iterable[AutoscalerChanges], wanted: _Replay) -> Mapping[str, ReplayDocument]:
    """The replays of those whose sizes could be other ones, by name. What cannot be replayed is said on stderr."""
    deciding = [each for each in changes if each.decides_otherwise]
    found = dict[str, ReplayDocument]()
    if not deciding:
        return found
    try:
        url, folder, _ = state_place(wanted.before.config)
        with Archive.open_archive(url, folder) as archive:
            for each in deciding[:_MOST_REPLAYED]:
                with _noted():
                    found[each.name] = _replay(each, Sources(archive, wanted.new), wanted)
    except StateError as error:
        typer.echo(f"the past is not replayed: {clean(str(error))}", err=True)
    if len(deciding) > _MOST_REPLAYED:
        typer.echo(f"{len(deciding) - _MOST_REPLAYED} more are not replayed; name them to replay them", err=True)
    return found


def _replay(changes: AutoscalerChanges, sources: Sources, wanted: _Replay) -> ReplayDocument:
    before, after = changes.before, changes.after
    if before is None or after is None:
        raise AssertionError("one that decides otherwise was there before and is there after")
    past = source_of(sources, after, wanted.since, wanted.until)
    label, new_label = wanted.labels
    candidates = [
        Candidate(label, before, limits=limits_of(before, wanted.before.settings or wanted.new)),
        Candidate(new_label, after, limits=limits_of(after, wanted.new)),
    ]
    return replay_document(followed(past, candidates, wanted.since, wanted.until), most=_POINTS)


@contextmanager
def _noted() -> Iterator[None]:
    """What fails for one autoscaler costs its replay alone."""
    try:
        yield
    except AutoscalerError as error:
        show_error(error)


def _chosen(names: Sequence[str] | None, scalers: Iterable[Autoscaler]) -> frozenset[str]:
    """The names asked for. Raises UnknownName."""
    known = frozenset(scaler.name for scaler in scalers)
    for name in names or ():
        if name not in known:
            raise unknown(name, known)
    return frozenset(names or known)
