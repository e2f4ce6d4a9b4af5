"""`autoscaler replay`: what a configuration would have decided in the past."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from autoscaler.cli.options import TIME_FORMS, moment
from autoscaler.cli.output import Form, exit_on_error, screen, show, show_document, show_error
from autoscaler.cli.progress import progress, share_of
from autoscaler.cli.source import DEFAULT_CONFIG, state_place, unknown
from autoscaler.errors import AutoscalerError, QuantityError
from autoscaler.foresee.comparison import Candidate, Comparison, compare
from autoscaler.foresee.past import Moment, Past
from autoscaler.foresee.replay import Load
from autoscaler.quantity import parse_duration

if TYPE_CHECKING:  # slow
    from autoscaler.config.settings import Settings
    from autoscaler.documents.replay import ReplayDocument
    from autoscaler.model import Autoscaler


def replay(
    names: Annotated[list[str] | None, typer.Argument(metavar="NAME", help="The autoscalers. Default: all.")] = None,
    *,
    config_file: Annotated[
        Path,
        typer.Option(
            "--config.file",
            metavar="FILE",
            help="The configuration to try; it also says where the state is.",
        ),
    ] = DEFAULT_CONFIG,
    since: Annotated[
        str, typer.Option("--since", metavar="TIME", help=f"Replay what happened since then: {TIME_FORMS}.")
    ] = "24h",
    until: Annotated[
        str,
        typer.Option("--until", metavar="TIME", help="Replay until then; in the same forms.", show_default="now"),
    ] = "0",
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
            "Default: the configuration's controller.startUpSeconds.",
        ),
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

    Nothing is written and no target is asked. The past comes from the state of the daemon, which may run meanwhile.
    """
    begin, end = moment(since, "--since"), moment(until, "--until")
    if begin >= end:
        raise typer.BadParameter("has to be before --until", param_hint="--since")
    takes = _duration(start_up, "--start-up")
    with exit_on_error():
        from autoscaler.cli.pasts import Sources, source_of  # noqa: PLC0415 - slow: the configuration and SQLAlchemy
        from autoscaler.record import Archive  # noqa: PLC0415 - likewise

        url, folder, settings = state_place(config_file)
        if settings is None:  # a file was named, so this cannot be
            raise AutoscalerError(f"{config_file} was not loaded")
        scalers = _chosen(settings, names)
        found = list[Comparison]()
        failed = False
        with Archive.open_archive(url, folder) as archive:
            sources = Sources(settings, archive)
            for scaler in scalers:
                try:
                    past = source_of(sources, scaler, begin, end)
                    found.append(followed(past, [Candidate(config_file.name, scaler, load, takes)], begin, end))
                except AutoscalerError as error:  # it costs this one alone
                    show_error(error)
                    failed = True
    with exit_on_error():
        show_comparisons(found, output, html)
    if failed:
        raise typer.Exit(1)


def followed(past: Past, candidates: Sequence[Candidate], since: datetime, until: datetime) -> Comparison:
    """The comparison, with its progress shown. Raises what the past raises."""
    with progress(past.name) as tell:

        def watch(one: Moment) -> None:
            tell(share_of(one.at, since, until))

        return compare(past, candidates, since, until, [watch])


def show_comparisons(found: Sequence[Comparison], form: Form = Form.TEXT, html: Path | None = None) -> None:
    """Print what came of it, and write it as a report into the file `html`. Raises AutoscalerError."""
    from autoscaler.cli.tables.replay import replay_lines  # noqa: PLC0415 - slow, as the next
    from autoscaler.documents.replay import ReplayList, replay_document  # noqa: PLC0415

    documents = [replay_document(each) for each in found]
    if form is Form.TEXT:
        on = screen()
        for number, each in enumerate(documents):
            show(["", *replay_lines(each, on)] if number else replay_lines(each, on))
    else:
        show_document(ReplayList(replays=tuple(documents)), form)
    if html is not None:
        _write_report(found, documents, html)


def _write_report(found: "Sequence[Comparison]", documents: "Sequence[ReplayDocument]", file: Path) -> None:
    from autoscaler.documents.replay import explanations  # noqa: PLC0415 - slow, as the next
    from autoscaler.web.page.report import ExplainedReplay, report  # noqa: PLC0415

    replays = [ExplainedReplay(document, explanations(each)) for document, each in zip(documents, found, strict=True)]
    text = report(replays, datetime.now(UTC), version("prometheus-autoscaler"))
    try:
        file.write_text(text, encoding="utf-8")
    except OSError as error:
        raise AutoscalerError(f"the report could not be written to {file}: {error.strerror or error}") from error


def _chosen(settings: "Settings", names: Sequence[str] | None) -> "Sequence[Autoscaler]":
    """Those of these names, or all. Raises UnknownName."""
    if not names:
        return settings.autoscalers
    known = {each.name: each for each in settings.autoscalers}
    for name in names:
        if name not in known:
            raise unknown(name, known)
    return [known[name] for name in dict.fromkeys(names)]


def _duration(text: str | None, option: str) -> timedelta | None:
    try:
        return None if text is None else parse_duration(text)
    except QuantityError as error:
        raise typer.BadParameter(str(error), param_hint=option) from None
