"""`autoscaler check`: is a file right, as far as that can be known without asking anybody?"""

from pathlib import Path
from typing import Annotated

import typer

from autoscaler.config import Settings, load
from autoscaler.errors import ConfigError
from autoscaler.model import Autoscaler, Query


def check(
    files: Annotated[
        list[Path] | None, typer.Argument(metavar="[FILE]...", help="The files. Default: --config.file's.")
    ] = None,
    *,
    config_file: Annotated[
        Path, typer.Option("--config.file", metavar="FILE", help="The file to check when no FILE is given.")
    ] = Path("/etc/autoscaler/autoscaler.yaml"),
) -> None:
    """Check configuration files, offline: keys, values, references, the syntax of every query.

    Prints one line an error, FILE:LINE:COLUMN: PATH: what is wrong; what to do. Exits 1 when there is one.
    Files that only the daemon's host may have, such as secrets, are warned of.
    """
    fine = [_check(file) for file in files or [config_file]]
    raise typer.Exit(0 if all(fine) else 1)


def _check(file: Path) -> bool:
    """Print what there is to say of a file; whether it is right."""
    try:
        settings = load(file)
    except ConfigError as error:
        typer.echo(str(error))
        return False
    for warning in settings.warnings:
        place = f"{warning.file}:{warning.line}:{warning.column}"
        typer.echo(f"{place}: warning: {warning.path}: {warning.message}")
    autoscalers, queries = len(settings.autoscalers), len(_queries(settings))
    typer.echo(f"{file}: ok, {_count(autoscalers, 'autoscaler')}, {_count(queries, 'query', 'queries')}")
    return True


def _queries(settings: Settings) -> set[tuple[str, str]]:
    """What is asked in a cycle: each expression of a source once, however many use it."""
    used = [query for scaler in settings.autoscalers for query in _queries_of(scaler)]
    return {(query.prometheus, query.expr) for query in used}


def _queries_of(scaler: Autoscaler) -> list[Query]:
    requests = [metric.request for metric in scaler.metrics if isinstance(metric.request, Query)]
    victims = [scaler.victims.query] if scaler.victims and scaler.victims.query else []
    return [metric.query for metric in scaler.metrics] + requests + victims


def _count(number: int, one: str, many: str | None = None) -> str:
    return f"{number} {one if number == 1 else many or one + 's'}"
