"""`autoscaler import`: converts autoscalers of Kubernetes, KEDA and Nomad to a configuration."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Final

import typer

from autoscaler.cli.create import adapter_type
from autoscaler.cli.options import AddedToConfigFile
from autoscaler.cli.output import error_lines, exit_on_error, show
from autoscaler.cli.reread import checked_lines
from autoscaler.convert.imported import NO_ADAPTER, Destination, Imported
from autoscaler.convert.manifest import read_manifest
from autoscaler.errors import AutoscalerError
from autoscaler.text import plain

_HEAD: Final = "Add these to the configuration, write the missing queries, then run: autoscaler check"


def import_(
    files: Annotated[list[Path], typer.Argument(metavar="FILE", help="The files; - is standard input.")],
    *,
    adapter: Annotated[
        str | None, typer.Option("--adapter", metavar="NAME", help="The connection in `adapters` that has the targets.")
    ] = None,
    config_file: AddedToConfigFile = None,
) -> None:
    """Print the section `autoscalers` for autoscalers of another system.

    Reads HorizontalPodAutoscalers (autoscaling/v2 and v1), ScaledObjects of KEDA, and Nomad's policies: the JSON of
    `/v1/scaling/policy/ID` or of `nomad job run -output`. Lists on standard error what needs a query or a check, and
    where the result scales differently: then the exit code is 1. It is also 1 if an object is wrong; the others are
    printed.
    """
    with exit_on_error():
        destination = Destination() if adapter is None else Destination(adapter, adapter_type(adapter, config_file))
        manifests = [read_manifest(Path("/dev/stdin") if str(file) == "-" else file, destination) for file in files]
        named, twice = _named(found for each in manifests for found in each.imported)
        imported, lines, unwritable = _written(named)
    problems = [problem for each in manifests for problem in each.problems]
    refused = [*(text for each in manifests for text in each.refused), *twice, *unwritable]
    differences = [
        f"{each.place}: {each.block.name}: {text}" for each in imported for text in (*each.left_out, *each.differences)
    ]
    notes = [note for each in manifests for note in each.notes]
    if more := sum(each.skipped for each in manifests) - len(notes):
        notes.append(f"{more} more objects are skipped")
    if not imported and not problems and not refused:
        notes.append("no autoscaler was found")
    notes += [f"{each.place}: {each.block.name}: {text}" for each in imported for text in each.todo]
    if adapter is None and imported:
        notes.append(f"scaleTargetRef.adapter is {NO_ADAPTER}; name the connection with --adapter")
    if differences:
        differences = ["It will scale differently:", *differences]
    _say([*error_lines(problems), *error_lines(refused), *map(plain, [*notes, *differences])])
    show(lines)
    if not imported or problems or refused or differences:
        raise typer.Exit(1)


def _say(lines: Sequence[str]) -> None:
    if lines:
        typer.echo("\n".join(lines), err=True)


def _written(imported: Sequence[Imported]) -> tuple[Sequence[Imported], Sequence[str], Sequence[str]]:
    """Return those that `check` would accept, their lines, and the problems of the others."""
    accepted, unwritable = list[Imported](), []
    for each in imported:
        try:
            checked_lines([], [each.block])
        except AutoscalerError as error:
            unwritable.append(f"{each.place}: {each.block.name}: {error}")
        else:
            accepted.append(each)
    lines = checked_lines([_HEAD], [each.block for each in accepted]) if accepted else []
    return accepted, lines, unwritable


def _named(found: Iterable[Imported]) -> tuple[Sequence[Imported], Sequence[str]]:
    """Return each with its name, prefixed by its namespace if several share it; and the problems of equal names."""
    every = list(found)
    often = Counter(each.block.name for each in every)
    first: dict[str, Imported] = {}
    twice = []
    for each in every:
        name = each.block.name if often[each.block.name] == 1 else f"{each.namespace}-{each.block.name}"
        if name in first:
            message = f"{name} is already the name of the one at {first[name].place}; rename one of them"
            twice.append(f"{each.place}: {message}")
        else:
            first[name] = replace(each, block=replace(each.block, name=name))
    return list(first.values()), twice
