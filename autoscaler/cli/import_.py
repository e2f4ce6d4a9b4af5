"""`autoscaler import`: converts autoscalers of Kubernetes, KEDA and Nomad to a configuration."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Final

import typer

from autoscaler.cli.create import adapter_type, configured
from autoscaler.cli.options import ConfigFile
from autoscaler.cli.output import error_lines, exit_on_error, show, warn
from autoscaler.cli.reread import checked_lines
from autoscaler.convert.distinct import Taken, with_own_names
from autoscaler.convert.imported import NO_ADAPTER, Destination, Imported
from autoscaler.convert.manifest import read_manifest
from autoscaler.convert.sources import with_sources
from autoscaler.errors import AutoscalerError

_HEAD: Final = "Add these to the configuration, write the missing queries, then run: autoscaler check"


def import_(
    files: Annotated[list[Path], typer.Argument(metavar="FILE", help="The files; - is standard input.")],
    *,
    adapter: Annotated[
        str | None, typer.Option("--adapter", metavar="NAME", help="The connection in `adapters` that has the targets.")
    ] = None,
    config_file: ConfigFile = None,
) -> None:
    """Print the section `autoscalers` for autoscalers of another system.

    Reads HorizontalPodAutoscalers (autoscaling/v2 and v1), ScaledObjects of KEDA, and Nomad's policies: the JSON of
    `/v1/scaling/policy/ID` or of `nomad job run -output`. Lists on standard error what its operator writes or checks,
    and where the result scales differently. The exit code is 1 if an autoscaler is not printed; the others are.
    """
    with exit_on_error():
        destination = Destination() if adapter is None else Destination(adapter, adapter_type(adapter, config_file))
        manifests = [read_manifest(Path("/dev/stdin") if str(file) == "-" else file, destination) for file in files]
        found = with_own_names([found for each in manifests for found in each.imported])
        accepted, unwritable = _accepted(found, Taken(None if adapter is None else configured(config_file)))
        imported = with_sources(accepted)
        lines = checked_lines([_HEAD], [each.block for each in imported]) if imported else []
    problems = [problem for each in manifests for problem in each.problems]
    refused = [*(text for each in manifests for text in each.refused), *unwritable]
    differences = [
        f"{each.place}: {each.block.name}: {text}" for each in imported for text in (*each.left_out, *each.differences)
    ]
    notes = [note for each in manifests for note in each.notes]
    if more := sum(each.skipped for each in manifests) - len(notes):
        notes.append(f"{more} more objects are skipped")
    if not imported and not problems and not refused:
        notes.append("no autoscaler was found")
    notes += [
        f"{each.place}: {each.block.name}: {text}"
        for each in imported
        for text in (*each.todo, *each.block.unwritten_requests())
    ]
    if adapter is None and imported:
        notes.append(f"scaleTargetRef.adapter is {NO_ADAPTER}; name the connection with --adapter")
    if differences:
        differences = ["It will scale differently:", *differences]
    warn([*error_lines(problems), *error_lines(refused), *notes, *differences])
    show(lines)
    if not imported or problems or refused:
        raise typer.Exit(1)


def _accepted(found: Sequence[Imported], taken: Taken) -> tuple[Sequence[Imported], Sequence[str]]:
    """Return those that `check` would accept in the configuration, and the problems of the others."""
    accepted, refused = list[Imported](), list[str]()
    for each in found:
        try:
            checked_lines([], [each.block])
            problem = each.unreadable or taken.take(each.block, each.place)
        except AutoscalerError as error:
            problem = str(error)
        if problem is None:
            accepted.append(each)
        else:
            refused.append(f"{each.place}: {each.block.name}: {problem}")
    return accepted, refused
