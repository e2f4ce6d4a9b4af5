"""`autoscaler test`: unit tests of a configuration."""

from collections.abc import Iterator
from datetime import datetime
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from autoscaler.cli.find_daemon import state_place
from autoscaler.cli.options import At, instant
from autoscaler.cli.output import exit_on_error, screen, show, show_error
from autoscaler.errors import AutoscalerError
from autoscaler.fields.types import suggest
from autoscaler.scenarios.reading import read_tests
from autoscaler.scenarios.report import FileResult, junit, summary, text_lines
from autoscaler.scenarios.results import result_of


class ReportForm(StrEnum):
    """How results are printed."""

    TEXT = "text"
    JUNIT = "junit"


def test(
    files: Annotated[list[Path] | None, typer.Argument(metavar="FILE", help="The files of tests.")] = None,
    *,
    config_file: Annotated[
        Path | None,
        typer.Option(
            "--config.file", metavar="FILE", help="The configuration to test. Default: the one that each FILE names."
        ),
    ] = None,
    output: Annotated[
        ReportForm, typer.Option("-o", "--output", metavar="FORMAT", help="text or junit.")
    ] = ReportForm.TEXT,
    init: Annotated[
        str | None,
        typer.Option("--init", metavar="NAME", help="Print a first test of this autoscaler, made from the state."),
    ] = None,
    at: At = None,
) -> None:
    """Run unit tests of a configuration, as promtool does for rules.

    Each test is a scenario: values that queries answer or a load that instances share, events at given times, and what
    is expected of sizes, reasons and changes. The daemon's own cycle runs through it on a virtual clock. Nothing is
    asked over the network, no target is touched, and a daemon may run meanwhile. If a test has series, a Prometheus
    that is started for the test evaluates the queries.

    A failure shows the time, what was expected, what came, and the explanation of the decision at that time. Exits
    with 1 if a test fails or a file is wrong.

    With --init it prints a file with one test: what the daemon read around the time of --at, as far as the state has
    it, becomes loads and events, and the sizes that it wrote become expectations. It is a test of --config.file, the
    daemon's configuration.
    """
    if init is not None:
        if files or at is None:
            raise typer.BadParameter("needs --at, and takes no FILE", param_hint="--init")
        _show_first_test(init, instant(at, "--at"), config_file)
        return
    if not files or at is not None:
        problem = "belongs to --init" if files else "is missing; name a file of tests"
        raise typer.BadParameter(problem, param_hint="--at" if files else "FILE")
    done = list[FileResult]()
    for result in _results(files, config_file):
        done.append(result)
        if result.error is not None:
            show_error(result.error)
        elif output is ReportForm.TEXT:
            show(text_lines(result, screen()))
    show([junit(done) if output is ReportForm.JUNIT else summary(done)])
    raise typer.Exit(0 if all(each.passed for each in done) else 1)


def _show_first_test(name: str, at: datetime, config_file: Path | None) -> None:
    from autoscaler.record.archive import Archive  # noqa: PLC0415 - slow, and only needed here
    from autoscaler.scenarios.first_test import first_test  # noqa: PLC0415 - likewise

    with exit_on_error():
        url, folder, settings = state_place(config_file)
        if settings is None:
            raise AutoscalerError("no configuration says where the state is; give --config.file")
        with Archive.open_archive(url, folder) as archive:
            if not archive.knows(name):
                raise AutoscalerError(f"the state has no autoscaler {name[:64]!r}; {suggest(name, archive.latest())}")
            show(first_test(archive, name, at, settings.path))


def _results(files: list[Path], config: Path | None) -> Iterator[FileResult]:
    for path in files:
        try:
            yield FileResult(path, [result_of(each) for each in read_tests(path, config)])
        except AutoscalerError as error:
            yield FileResult(path, error=error)
