"""`autoscaler replay`: what a configuration would have decided in the past."""

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Annotated, NamedTuple

import typer

from autoscaler.cli.options import (
    OutputForm,
    PastSize,
    PastSource,
    Since,
    StartUp,
    StateConfigFile,
    Termination,
    Until,
    duration,
    span,
)
from autoscaler.cli.output import Form, exit_on_error, screen, show, show_document, show_error
from autoscaler.cli.source import DEFAULT_CONFIG, UnknownName, running_config, state_place
from autoscaler.config import Settings
from autoscaler.config import load as load_settings
from autoscaler.config.fields import suggest
from autoscaler.errors import AutoscalerError, PastError
from autoscaler.model import Autoscaler, ConnectionLimits
from autoscaler.text import clean
from autoscaler.version import VERSION
from autoscaler.whatif.commands.pasts import Sources, opened, past_of
from autoscaler.whatif.commands.progress import progress, share_of
from autoscaler.whatif.compare.comparison import Comparison, compare
from autoscaler.whatif.documents.replay import ReplayList, explanations, replay_document
from autoscaler.whatif.past.past import Past
from autoscaler.whatif.replay.replay import Candidate, Load
from autoscaler.whatif.report import report
from autoscaler.whatif.tables.replay import replay_lines


class _Options(NamedTuple):
    """How candidates are replayed and shown."""

    against: Path | None
    load: Load
    start_up: timedelta | None
    termination: timedelta | None
    output: Form
    html: Path | None


def replay(
    names: Annotated[list[str] | None, typer.Argument(metavar="NAME", help="The autoscalers. Default: all.")] = None,
    *,
    candidate: Annotated[
        Path | None,
        typer.Option("--candidate", metavar="FILE", help="The configuration to try. Default: that of --config.file."),
    ] = None,
    config_file: StateConfigFile = None,
    since: Since = "24h",
    until: Until = "0",
    load: Annotated[
        Load,
        typer.Option(
            "--load",
            metavar="MODEL",
            help="conserved: the total load stays and is spread over the instances that there would have been; "
            "recorded: each cycle is decided at the recorded size.",
        ),
    ] = Load.CONSERVED,
    start_up: StartUp = None,
    termination: Termination = None,
    prometheus: PastSource = None,
    size: PastSize = None,
    against: Annotated[
        Path | None,
        typer.Option("--against", metavar="FILE", help="Another configuration, to compare the first one with."),
    ] = None,
    output: OutputForm = Form.TEXT,
    html: Annotated[
        Path | None,
        typer.Option(
            "--html",
            metavar="FILE",
            help="Also write a report with charts and an explanation of each change; it needs no network.",
        ),
    ] = None,
) -> None:
    """Run the decision pipeline over the past with another configuration, and compare it with what happened.

    With --against, two configurations are compared side by side: their measures, and when and why their sizes differ.
    The demand is then by the metrics and targets of the configuration after --against.

    Nothing is written and no target is queried. The past comes from the daemon's state, while the daemon may be
    running, and from Prometheus for what the state lacks.
    """
    start_up_time, termination_time = duration(start_up, "--start-up"), duration(termination, "--termination")
    options = _Options(against, load, start_up_time, termination_time, output, html)
    times = span(since, until)
    with exit_on_error():
        running = running_config(config_file, candidate or DEFAULT_CONFIG)
        config = candidate or running
        settings = load_settings(config)
        url, folder, _ = state_place(running)
        tried = list(_candidates(options, config, settings, names))
        found, failed = list[Comparison](), False
        with opened(url, folder, prometheus) as archive:
            sources = Sources(archive, settings, prometheus, size)
            for scaler, candidates in tried:
                try:
                    past = past_of(sources, scaler, *times, [each.scaler for each in candidates])
                    found.append(compare_with_progress(past, candidates, *times, options.termination))
                except AutoscalerError as error:  # the others are still replayed
                    show_error(error)
                    failed = True
        _show(found, options)
    if failed:
        raise typer.Exit(1)


def _candidates(
    options: _Options, config: Path, settings: Settings, names: Sequence[str] | None
) -> Iterator[tuple[Autoscaler, Sequence[Candidate]]]:
    """The autoscalers of a configuration, each with what to try: that of `--against` first.

    Raises ConfigError, UnknownName.
    """

    def candidate(label: str, scaler: Autoscaler, its: Settings) -> Candidate:
        return Candidate(label, scaler, options.load, options.start_up, limits_of(scaler, its))

    chosen = _chosen(settings, names)
    before = settings if options.against is None else load_settings(options.against)
    label, other_label = labels(config, options.against)
    others = {} if options.against is None else {each.name: each for each in before.autoscalers}
    for scaler in chosen:
        own, other = candidate(label, scaler, settings), others.get(scaler.name)
        if other is None and options.against is not None:
            typer.echo(f"{clean(scaler.name)} is not in {clean(str(options.against))}", err=True)
        yield scaler, [own] if other is None else [candidate(other_label, other, before), own]


def limits_of(scaler: Autoscaler, settings: Settings) -> ConnectionLimits:
    """The limits of the autoscaler's connection in a configuration."""
    return settings.limits.get(scaler.target.adapter, ConnectionLimits())


def labels(file: Path, other: Path | None) -> tuple[str, str]:
    """The labels of two files side by side."""
    if other is None:
        return file.name, ""
    return (file.name, other.name) if file.name != other.name else (str(file), str(other))


def compare_with_progress(
    past: Past,
    candidates: Sequence[Candidate],
    since: datetime,
    until: datetime,
    termination: timedelta | None = None,
) -> Comparison:
    """As `compare`, with progress on stderr. Raises PastError, and what the past raises."""
    with progress(past.name) as done:
        found = compare(
            past, candidates, since, until, lambda cycle: done(share_of(cycle.at, since, until)), termination
        )
    if not found.cycles:
        begin, end = (each.isoformat(timespec="seconds") for each in (since, until))
        raise PastError(f"autoscaler {past.name!r}: no cycle is known from {begin} to {end}; give another time")
    return found


def _show(found: Sequence[Comparison], options: _Options) -> None:
    """Print the comparisons, and write the report. Raises AutoscalerError."""
    documents = [replay_document(each) for each in found]
    if options.output is Form.TEXT:
        on = screen()
        for number, each in enumerate(documents):
            show(["", *replay_lines(each, on)] if number else replay_lines(each, on))
    else:
        show_document(ReplayList(replays=tuple(documents)), options.output)
    if options.html is None:
        return
    text = report(list(zip(documents, map(explanations, found), strict=True)), datetime.now(UTC), VERSION)
    try:
        options.html.write_text(text, encoding="utf-8", errors="replace")
    except OSError as error:
        raise AutoscalerError(
            f"the report could not be written to {options.html}: {error.strerror or error}"
        ) from error


def _chosen(settings: Settings, names: Sequence[str] | None) -> Sequence[Autoscaler]:
    """The autoscalers of a configuration with these names, or all. Raises UnknownName."""
    if not names:
        return settings.autoscalers
    known = {each.name: each for each in settings.autoscalers}
    for name in names:
        if name not in known:
            raise UnknownName(f"{settings.path} has no autoscaler {name[:64]!r}; {suggest(name, known)}")
    return [known[name] for name in dict.fromkeys(names)]
