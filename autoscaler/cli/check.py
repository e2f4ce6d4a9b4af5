"""`autoscaler check`: checks a configuration offline; with --live, also whether it would work."""

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Annotated, Final

import typer

from autoscaler.cli.output import Form, error_lines, exit_on_error, screen, show, show_values
from autoscaler.config.loader import load
from autoscaler.config.settings import Settings
from autoscaler.errors import ConfigError, Problem
from autoscaler.layout import BOLD, GREEN, RED
from autoscaler.service import CONFIG
from autoscaler.text import clean, count, listed

_NAMED: Final = 5
"""Names in the last line."""


def check(
    files: Annotated[
        list[Path] | None,
        typer.Argument(metavar="FILE", help="The files to check. Default: that of --config.file."),
    ] = None,
    *,
    config_file: Annotated[
        Path, typer.Option("--config.file", metavar="FILE", help="The file to check when no FILE is given.")
    ] = CONFIG,
    live: Annotated[
        bool, typer.Option("--live", help="Also ask every Prometheus and adapter once; change nothing.")
    ] = False,
    write_test: Annotated[
        bool,
        typer.Option("--write-test", help="With --live: also test whether the targets may be scaled; change no size."),
    ] = False,
    plan: Annotated[
        bool, typer.Option("--plan", help="Also print the queries of a cycle: what is merged, what is not, and why.")
    ] = False,
    printed: Annotated[
        bool,
        typer.Option("--print", help="Print only the normalized file: defaults filled in, secrets not shown."),
    ] = False,
    strict: Annotated[
        bool, typer.Option("--strict", help="Treat warnings as errors: exit 1 if there are any.")
    ] = False,
) -> None:
    """Check configuration files, offline: keys, values, references, the syntax of every query; also the files of teams.

    Prints one line for each error, FILE:LINE:COLUMN: PATH: what is wrong; what to do. Exits with 1 if there are any.
    Then prints the warnings: a file, such as a secret, that is missing here and may exist on the daemon's host; an
    expression that only Prometheus can check (--live asks it if an autoscaler uses it); a targetsFile that cannot be
    written here, or that others cannot read; schedules that overlap or change nothing.

    With --live it also reads every target, runs every query once and prints what each autoscaler would do. It then
    exits with 1 if something would not work, for example if a secret is missing.

    With --write-test beside --live it also sends each back end a write that changes no size, and prints whether the
    daemon may scale the target, or which permission is missing. Nomad shows the test among the group's scaling events.

    With --plan it also prints the queries of a cycle for each Prometheus, without sending them.

    With --print it prints the file as `autoscaler diff` compares it, and nothing else: every default is written out,
    and each value in one way. The errors of a wrong file go to standard error.
    """
    if printed:
        from autoscaler.config.normalized import normalized, without_secrets  # noqa: PLC0415 - only needed here

        for file in files or [config_file]:
            with exit_on_error():
                show_values(without_secrets(normalized(file)), Form.YAML)
        return
    if write_test and not live:
        raise typer.BadParameter("needs --live", param_hint="--write-test")
    examine = partial(_examine, write_test=write_test) if live else None
    fine = [_check(file, examine, plan=plan, strict=strict) for file in files or [config_file]]
    raise typer.Exit(0 if all(fine) else 1)


def _check(file: Path, examine: Callable[[Settings], bool] | None, *, plan: bool, strict: bool) -> bool:
    """Print the problems of a file, with `examine` also what it finds. Returns whether there are none."""
    try:
        settings = load(file, judge=True)
    except ConfigError as error:
        _print_problems(error.problems, error.warnings, strict=strict)
        return False
    refused = [each for problems in settings.refused.values() for each in problems]
    queries = {(query.prometheus, query.expr) for scaler in settings.autoscalers for query in scaler.queries}
    asked = queries if examine is not None else ()
    unknown = {each.problem for each in settings.unknown_expressions if (each.prometheus, each.expr) not in asked}
    warnings = sorted({*settings.warnings, *settings.hints, *unknown})
    _print_problems(refused, warnings, strict=strict)
    if refused or (strict and warnings):
        return False
    counted = f"{count(len(settings.autoscalers), 'autoscaler')}, {count(len(queries), 'query', 'queries')}"
    typer.echo(f"{file}: ok, {counted}")
    if plan:
        from autoscaler.cli.plan import plan_lines  # noqa: PLC0415 - slow to import, and not needed otherwise

        for line in plan_lines(settings):
            typer.echo(clean(line))
    return examine is None or examine(settings)


def _print_problems(errors: Sequence[Problem], warnings: Sequence[Problem], *, strict: bool) -> None:
    """Print a line for each. Errors come first, because the number of lines is limited."""
    mark = "" if strict else "warning: "
    lines = [f"{each.file}:{each.line}:{each.column}: {mark}{each.path}: {each.message}" for each in warnings]
    for line in error_lines([*errors, *lines]):
        typer.echo(line)


def _examine(settings: Settings, *, write_test: bool) -> bool:
    """Print the findings of --live. Returns whether everything would work."""
    from autoscaler.cli.live import examine  # noqa: PLC0415 - slow to import, and not needed offline
    from autoscaler.clock import SystemClock  # noqa: PLC0415 - likewise
    from autoscaler.log.configure import Level, configure  # noqa: PLC0415 - likewise

    with exit_on_error():
        blocks = examine(settings, SystemClock(), configure(Level.WARNING), write_test=write_test)
    on = screen()
    for block in blocks:
        verdict = on.paint(RED, "would not work") if block.wrong else on.paint(GREEN, "ok")
        show(["", f"{on.paint(BOLD, clean(block.title))}: {verdict}"])
        width = max((len(line.label) for line in block.lines), default=0)
        for line in block.lines:
            wrapped = on.wrap(f"{line.label:<{width}}  {line.text}", 2, width + 2)
            show(on.paint(RED if line.wrong else "", text) for text in wrapped)
    wrong = [clean(block.title) for block in blocks if block.wrong]
    typer.echo(f"\n{settings.path}: " + (f"would not work: {listed(wrong, _NAMED)}" if wrong else "all would work"))
    return not wrong
