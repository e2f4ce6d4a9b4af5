"""`autoscaler replay`: the results of other configurations in the past."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import nullcontext
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Final, TypeAlias

import typer

from autoscaler.cli.find_daemon import state_place
from autoscaler.cli.options import (
    ConfigFile,
    OutputForm,
    Since,
    Until,
    duration,
    span,
)
from autoscaler.cli.output import Form, exit_on_error, screen, show, show_document, show_error
from autoscaler.config.loader import load
from autoscaler.config.settings import Settings
from autoscaler.errors import AutoscalerError, PastError
from autoscaler.fields.types import suggest
from autoscaler.model import Autoscaler, ConnectionLimits
from autoscaler.record.archive import Archive
from autoscaler.service import CONFIG, has_configuration
from autoscaler.text import clean
from autoscaler.version import VERSION
from autoscaler.whatif.commands.pasts import Sources, past_of
from autoscaler.whatif.compare.comparison import compare
from autoscaler.whatif.compare.document import ReplayDocument, ReplayList
from autoscaler.whatif.compare.rows import fit_text
from autoscaler.whatif.replay.replay import Candidate
from autoscaler.whatif.report import report
from autoscaler.whatif.tables.replay import replay_lines

_MAX_CANDIDATES: Final = 3
_PastSource: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--prometheus",
        metavar="NAME",
        help="Read the past from this source of the configuration instead of the state.",
    ),
]
_PastSize: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--size",
        metavar="QUERY",
        help="With --prometheus: PromQL for the past size of the target. "
        "Default: autoscaler_current_replicas of this autoscaler.",
    ),
]
_StartUp: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--start-up",
        metavar="DURATION",
        help="How long an instance takes to become ready, if no instance in the state shows it. Default: 60s.",
    ),
]


class _Tried:
    """A configuration."""

    def __init__(self, label: str, settings: Settings) -> None:
        self.label, self.settings = label, settings
        self.scalers: Final[Mapping[str, Autoscaler]] = {each.name: each for each in settings.autoscalers}

    def limits(self, name: str) -> ConnectionLimits:
        """The limits of an autoscaler's connection."""
        scaler = self.scalers.get(name)
        found = None if scaler is None else self.settings.limits.get(scaler.target.adapter)
        return found or ConnectionLimits()


def replay(
    names: Annotated[list[str] | None, typer.Argument(metavar="NAME", help="The autoscalers. Default: all.")] = None,
    *,
    candidate: Annotated[
        list[Path] | None,
        typer.Option(
            "--candidate",
            metavar="FILE",
            help=f"A configuration to try; up to {_MAX_CANDIDATES} times. Default: that of --config.file.",
        ),
    ] = None,
    config_file: ConfigFile = None,
    since: Since = "24h",
    until: Until = "now",
    start_up: _StartUp = None,
    prometheus: _PastSource = None,
    size: _PastSize = None,
    output: OutputForm = Form.TEXT,
    html: Annotated[
        Path | None,
        typer.Option("--html", metavar="FILE", help="Also write a report with a picture; it needs no network."),
    ] = None,
) -> None:
    """Run the decision pipeline over the past with other configurations, and compare them with what happened.

    Nothing is written and no target is queried. The past comes from the daemon's state, while the daemon may be
    running; or, before a daemon is installed, from Prometheus (--prometheus).

    Recorded decisions are decided again first. Then the configuration that ran is simulated. If it does not come to
    what was (within 1 point of unserved demand and 3 % of instance-hours), nothing is compared and the exit code is 1.
    """
    start_up_time, times = duration(start_up, "--start-up"), span(since, until)
    if candidate and len(candidate) > _MAX_CANDIDATES:
        raise typer.BadParameter(f"name at most {_MAX_CANDIDATES} files", param_hint="--candidate")
    if size is not None and prometheus is None:
        raise typer.BadParameter("needs --prometheus; the state knows the size", param_hint="--size")
    failed = False
    with exit_on_error():
        running = config_file or (candidate[0] if candidate and not has_configuration() else CONFIG)
        files = candidate or [running]
        tried = [_Tried(label, load(file)) for label, file in zip(_labels(files), files, strict=True)]
        url, folder, settings = state_place(running)
        ran = None if settings is None else _Tried("", settings)
        chosen = _chosen(tried[0].settings, names)
        if config_file is None:
            note = f"without --config.file, the state and the limits of what ran are those that {running} names"
            typer.echo(clean(note), err=True)
        found = list[ReplayDocument]()
        with nullcontext() if prometheus is not None else Archive.open_archive(url, folder) as archive:
            sources = Sources(archive, tried[0].settings, prometheus, size)
            for name in chosen:
                candidates = list(_candidates(name, tried))
                scalers = [each.scaler for each in candidates if each.scaler is not None]
                limits = None if ran is None else ran.limits(name)
                try:
                    past = past_of(sources, scalers[0], *times, scalers[1:])
                    found.append(compare(past, candidates, *times, start_up_time, limits))
                except AutoscalerError as error:  # the others are still replayed
                    show_error(error)
                    failed = True
        _show(found, output, html)
    if failed or any(each.fit is not None and not each.fit.holds for each in found):
        raise typer.Exit(1)


def _labels(files: Sequence[Path]) -> Sequence[str]:
    """The names of files, or their paths where names are equal."""
    names = [each.name for each in files]
    return names if len({*names}) == len(names) else [str(each) for each in files]


def _chosen(settings: Settings, names: Sequence[str] | None) -> Sequence[str]:
    """These names, or those of all autoscalers of a configuration. Raises PastError."""
    known = {each.name for each in settings.autoscalers}
    for name in names or ():
        if name not in known:
            raise PastError(f"{settings.path} has no autoscaler {name[:64]!r}; {suggest(name, known)}")
    return list(dict.fromkeys(names or [each.name for each in settings.autoscalers]))


def _candidates(name: str, tried: Sequence[_Tried]) -> Iterator[Candidate]:
    """The autoscaler of each configuration that has it, the first one first."""
    for each in tried:
        scaler = each.scalers.get(name)
        if scaler is None:
            typer.echo(f"{clean(name)} is not in {clean(str(each.settings.path))}", err=True)
        else:
            yield Candidate(each.label, scaler, each.limits(name))


def _show(documents: Sequence[ReplayDocument], output: Form, html: Path | None) -> None:
    """Print the replays, and write the report. Raises AutoscalerError."""
    if output is Form.TEXT:
        on = screen()
        for number, each in enumerate(documents):
            show(["", *replay_lines(each, on)] if number else replay_lines(each, on))
    else:
        show_document(ReplayList(replays=tuple(documents)), output)
        for each in documents:
            if each.fit is not None and not each.fit.holds:
                typer.echo(clean(f"{each.name}: {fit_text(each)}"), err=True)
    if html is None:
        return
    text = report(documents, datetime.now(UTC), VERSION)
    try:
        html.write_text(text, encoding="utf-8", errors="replace")
    except OSError as error:
        raise AutoscalerError(f"the report could not be written to {html}: {error.strerror or error}") from error
