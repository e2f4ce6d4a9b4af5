"""`autoscaler replay`: what a configuration would have decided in the past."""

import dataclasses
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Annotated, NamedTuple

import typer

from autoscaler.cli.options import (
    TIME_FORMS,
    PastCache,
    PastSize,
    PastSource,
    StateConfigFile,
    Termination,
    duration,
    span,
)
from autoscaler.cli.output import Form, exit_on_error, screen, show, show_document, show_error
from autoscaler.cli.source import DEFAULT_CONFIG, running_config, state_place
from autoscaler.config import Settings, load
from autoscaler.config.fields import suggest
from autoscaler.errors import AutoscalerError
from autoscaler.model import Autoscaler, ConnectionLimits
from autoscaler.text import clean, plain
from autoscaler.version import VERSION
from autoscaler.whatif.case.reading import CasePast
from autoscaler.whatif.commands.pasts import Asking, Sources, opened, source_of
from autoscaler.whatif.commands.progress import progress, share_of
from autoscaler.whatif.compare.comparison import Candidate, Comparison, compare
from autoscaler.whatif.documents.replay import ReplayDocument, ReplayList, explanations, replay_document
from autoscaler.whatif.past.past import Moment, Past
from autoscaler.whatif.replay.replay import NO_LIMITS, Load
from autoscaler.whatif.report import ExplainedReplay, report
from autoscaler.whatif.tables.replay import replay_lines

_SINCE = "24h"


class NotInFile(AutoscalerError):
    """The configuration to try has no such autoscaler; the message says which it has."""


class NoCycles(AutoscalerError):
    """There is nothing to replay in the time asked for."""


class How(NamedTuple):
    """What the options say of how a candidate is replayed."""

    load: Load
    start_up: timedelta | None
    termination: timedelta | None
    against: Path | None
    """The configuration that another one is compared with."""

    def candidate(self, label: str, scaler: Autoscaler, settings: Settings) -> Candidate:
        """An autoscaler of a configuration to try."""
        return Candidate(label, scaler, self.load, self.start_up, limits_of(scaler, settings))

    def candidates(
        self, config: Path, settings: Settings, scalers: "Sequence[Autoscaler]"
    ) -> Iterator[Sequence[Candidate]]:
        """For each of these autoscalers of a configuration what is to be tried: that of `against` first.

        Raises ConfigError.
        """
        if self.against is None:
            yield from ([self.candidate(config.name, scaler, settings)] for scaler in scalers)
            return
        from autoscaler.config import load  # noqa: PLC0415 - slow

        before = load(self.against)
        others = {each.name: each for each in before.autoscalers}
        label, other_label = labels(config, self.against)
        for scaler in scalers:
            own, other = self.candidate(label, scaler, settings), others.get(scaler.name)
            if other is None:
                typer.echo(f"{clean(scaler.name)} is not in {clean(str(self.against))}", err=True)
            yield [own] if other is None else [self.candidate(other_label, other, before), own]


def replay(
    names: Annotated[list[str] | None, typer.Argument(metavar="NAME", help="The autoscalers. Default: all.")] = None,
    *,
    candidate: Annotated[
        Path | None,
        typer.Option("--candidate", metavar="FILE", help="The configuration to try. Default: that of --config.file."),
    ] = None,
    config_file: StateConfigFile = None,
    since: Annotated[
        str | None,
        typer.Option(
            "--since", metavar="TIME", help=f"Replay what happened since then: {TIME_FORMS}. Default: {_SINCE}."
        ),
    ] = None,
    until: Annotated[
        str | None, typer.Option("--until", metavar="TIME", help="Replay until then; in the same forms. Default: now.")
    ] = None,
    load: Annotated[
        Load,
        typer.Option(
            "--load",
            metavar="MODEL",
            help="conserved: the whole load stays and is spread over the instances there would have been; "
            "recorded: each cycle decides by what was seen, whatever was decided before.",
        ),
    ] = Load.CONSERVED,
    start_up: Annotated[
        str | None,
        typer.Option(
            "--start-up",
            metavar="DURATION",
            help="How long an instance takes to be ready, until one was seen to. "
            "Default: controller.startUpSeconds of the configuration.",
        ),
    ] = None,
    termination: Termination = None,
    prometheus: PastSource = None,
    size: PastSize = None,
    cache: PastCache = None,
    case: Annotated[
        Path | None,
        typer.Option(
            "--case",
            metavar="FILE",
            help="Replay all of what `autoscaler export` wrote; without --candidate its own decisions alone.",
        ),
    ] = None,
    against: Annotated[
        Path | None,
        typer.Option("--against", metavar="FILE", help="Another configuration, to compare the first one with."),
    ] = None,
    output: Annotated[Form, typer.Option("-o", "--output", metavar="FORMAT", help="text, json or yaml.")] = Form.TEXT,
    html: Annotated[
        Path | None,
        typer.Option(
            "--html",
            metavar="FILE",
            help="Also write a report with charts, in which each change leads to its explanation; it needs no network.",
        ),
    ] = None,
) -> None:
    """Run the decision pipeline over the past with another configuration, and compare it with what happened.

    With --against two configurations stand side by side: what each would have come to, and when and why their sizes
    would have been different. What was needed is then told by the metrics and targets of the one after --against.

    Nothing is written and no target is asked. The past comes from the state of the daemon, which may run meanwhile;
    what the state does not have is asked of Prometheus, and instances are inferred from their series. Or it is from a
    case; then the exit code is 1 if a recorded decision is not the same when it is decided again.
    """
    how = How(load, duration(start_up, "--start-up"), duration(termination, "--termination"), against)
    if case is not None:
        if against is not None and (candidate or config_file) is None:
            raise typer.BadParameter("compares that of --candidate; name one", param_hint="--against")
        if since is not None or until is not None:
            raise typer.BadParameter("cannot be combined with --since and --until; leave them out", param_hint="--case")
        if (prometheus, size, cache) != (None, None, None):
            other = "--prometheus, --size and --cache"
            raise typer.BadParameter(f"cannot be combined with {other}; leave them out", param_hint="--case")
        with exit_on_error():
            failed = _show_case(case, names, candidate or config_file, how, (output, html))
    else:
        begin, end = span(since or _SINCE, until or "0")
        with exit_on_error():
            found, failed = _of_configuration(
                config_file, candidate, names, (begin, end), how, Asking(prometheus, cache, size)
            )
            show_comparisons(found, output, html)
    if failed:
        raise typer.Exit(1)


def _of_configuration(
    running: Path | None,
    candidate: Path | None,
    names: Sequence[str] | None,
    times: tuple[datetime, datetime],
    how: How,
    asking: Asking,
) -> tuple[Sequence[Comparison], bool]:
    """A comparison for each of these autoscalers, and whether one has none. Raises AutoscalerError for all of them."""
    running = running_config(running, candidate or DEFAULT_CONFIG)
    config = candidate or running
    settings = load(config)
    url, folder, _ = state_place(running)
    found, failed = list[Comparison](), False
    scalers = chosen(settings, names)
    with opened(url, folder, asking) as archive:
        for scaler, candidates in zip(scalers, how.candidates(config, settings, scalers), strict=True):
            try:
                past = source_of(Sources(archive, settings, asking), scaler, *times)
                found.append(followed(past, candidates, *times, how.termination))
            except AutoscalerError as error:  # it costs this one alone
                show_error(error)
                failed = True
    return found, failed


def _show_case(
    file: Path, names: Sequence[str] | None, config: Path | None, how: How, where: tuple[Form, Path | None]
) -> bool:
    """Show the case's comparison; whether a decision of its own was another one. Raises AutoscalerError."""
    past = CasePast(file)
    candidates = list[Candidate]()
    if config is not None:
        settings = load(config)
        candidates = _of_several(how, config, settings, chosen(settings, names or [past.name]))
    elif names:
        raise typer.BadParameter("need --config.file beside --case, which says what they are", param_hint="NAME")
    if past.header.program != VERSION:
        typer.echo(f"{file} is of version {plain(past.header.program)}; this is {VERSION}", err=True)
    with past.deciding():
        found = followed(past, candidates, past.header.since, past.header.until, how.termination)
        show_comparisons([found], *where)
    return found.same < found.compared


def _of_several(how: How, config: Path, settings: Settings, scalers: Sequence[Autoscaler]) -> list[Candidate]:
    """What is to be tried in one comparison; a label says which autoscaler it is."""
    return [
        dataclasses.replace(each, label=f"{each.label} {each.scaler.name}")
        for candidates in how.candidates(config, settings, scalers)
        for each in candidates
    ]


def limits_of(scaler: Autoscaler, settings: Settings | None) -> ConnectionLimits:
    """What its connection's autoscalers may do together, as a configuration says; None: no configuration says it."""
    return NO_LIMITS if settings is None else settings.limits.get(scaler.target.adapter, NO_LIMITS)


def labels(file: Path, other: Path) -> tuple[str, str]:
    """What two files are called side by side."""
    return (file.name, other.name) if file.name != other.name else (str(file), str(other))


def followed(
    past: Past,
    candidates: Sequence[Candidate],
    since: datetime,
    until: datetime,
    termination: timedelta | None = None,
) -> Comparison:
    """The comparison, with its progress shown. `termination`: as in `compare`.

    Raises NoCycles, and what the past raises.
    """
    with progress(past.name) as tell:

        def watch(one: Moment) -> None:
            tell(share_of(one.at, since, until))

        found = compare(past, candidates, since, until, [watch], termination)
    if not found.cycles:
        begin, end = (each.isoformat(timespec="seconds") for each in (since, until))
        raise NoCycles(f"autoscaler {past.name!r}: no cycle is known from {begin} to {end}; ask for another time")
    return found


def show_comparisons(found: Sequence[Comparison], form: Form = Form.TEXT, html: Path | None = None) -> None:
    """Print what came of it, and write it as a report into the file `html`. Raises AutoscalerError."""
    documents = [replay_document(each) for each in found]
    if form is Form.TEXT:
        on = screen()
        for number, each in enumerate(documents):
            show(["", *replay_lines(each, on)] if number else replay_lines(each, on))
    else:
        show_document(ReplayList(replays=tuple(documents)), form)
    if html is not None:
        _write_report(found, documents, html)


def _write_report(found: Sequence[Comparison], documents: Sequence[ReplayDocument], file: Path) -> None:

    replays = [ExplainedReplay(document, explanations(each)) for document, each in zip(documents, found, strict=True)]
    text = report(replays, datetime.now(UTC), VERSION)
    try:
        file.write_text(text, encoding="utf-8", errors="replace")
    except OSError as error:
        raise AutoscalerError(f"the report could not be written to {file}: {error.strerror or error}") from error


def chosen(settings: Settings, names: Sequence[str] | None) -> Sequence[Autoscaler]:
    """The configuration's autoscalers of these names, or all. Raises NotInFile."""
    if not names:
        return settings.autoscalers

    known = {each.name: each for each in settings.autoscalers}
    for name in names:
        if name not in known:
            raise NotInFile(f"{settings.path} has no autoscaler {name[:64]!r}; {suggest(name, known)}")
    return [known[name] for name in dict.fromkeys(names)]
