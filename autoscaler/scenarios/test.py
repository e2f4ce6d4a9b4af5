"""`autoscaler test`: unit tests of a configuration."""

from collections.abc import Iterator
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from autoscaler.cli.output import screen, show, show_error
from autoscaler.errors import AutoscalerError
from autoscaler.scenarios.reading import read_tests
from autoscaler.scenarios.report import FileResult, junit, summary, text_lines
from autoscaler.scenarios.results import result_of


class ReportForm(StrEnum):
    """How results are printed."""

    TEXT = "text"
    JUNIT = "junit"


def test(
    files: Annotated[list[Path], typer.Argument(metavar="FILE", help="The files of tests.")],
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
) -> None:
    """Run unit tests of a configuration, as promtool does for rules.

    Each test is a scenario: values that queries answer or a load that instances share, events at given times, and what
    is expected of sizes, reasons and changes. The daemon's own cycle runs through it on a virtual clock. Nothing is
    asked over the network, no target is touched, and a daemon may run meanwhile. If a test has series, a Prometheus
    that is started for the test evaluates the queries.

    A failure shows the time, what was expected, what came, and the explanation of the decision at that time. Exits
    with 1 if a test fails or a file is wrong.
    """
    done = list[FileResult]()
    for result in _results(files, config_file):
        done.append(result)
        if result.error is not None:
            show_error(result.error)
        elif output is ReportForm.TEXT:
            show(text_lines(result, screen()))
    show([junit(done) if output is ReportForm.JUNIT else summary(done)])
    raise typer.Exit(0 if all(each.passed for each in done) else 1)


def _results(files: list[Path], config: Path | None) -> Iterator[FileResult]:
    for path in files:
        try:
            yield FileResult(path, [result_of(each) for each in read_tests(path, config)])
        except AutoscalerError as error:
            yield FileResult(path, error=error)
