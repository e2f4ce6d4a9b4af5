"""`autoscaler import`: converts HorizontalPodAutoscaler manifests to a configuration."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Final, TypeAlias

import typer

from autoscaler.cli import hpa as fields
from autoscaler.cli import manifest
from autoscaler.cli.blocks import AutoscalerBlock, MetricBlock, UsualQuery, usual_query
from autoscaler.cli.create import adapter_type
from autoscaler.cli.options import AddedToConfigFile
from autoscaler.cli.output import error_lines, exit_on_error, show
from autoscaler.cli.reread import checked_lines
from autoscaler.cli.series import series
from autoscaler.errors import AutoscalerError
from autoscaler.text import plain

_NO_ADAPTER: Final = "CHANGE-ME"
_NOMAD: Final = "nomad"
_HEAD: Final = "Add these to the configuration, write the missing queries, then run: autoscaler check"

_Pairs: TypeAlias = Sequence[tuple[manifest.Hpa, AutoscalerBlock]]


def import_(
    files: Annotated[list[Path], typer.Argument(metavar="FILE", help="The manifests; - is standard input.")],
    *,
    adapter: Annotated[
        str | None, typer.Option("--adapter", metavar="NAME", help="The connection in `adapters` that has the targets.")
    ] = None,
    config_file: AddedToConfigFile = None,
) -> None:
    """Print the section `autoscalers` for HorizontalPodAutoscaler manifests (autoscaling/v2 and v1).

    Lists metrics that need a query or a check on standard error, and each manifest that is wrong; then it prints the
    others, and the exit code is 1.
    """
    with exit_on_error():
        kind = None if adapter is None else adapter_type(adapter, config_file)
        manifests = [manifest.read_manifest(Path("/dev/stdin") if str(file) == "-" else file) for file in files]
        hpas, twice = _named(hpa for each in manifests for hpa in each.hpas)
        pairs, lines, unwritable = _written([(hpa, _block(hpa, name, adapter, kind)) for hpa, name in hpas])
    problems = [problem for each in manifests for problem in each.problems]
    refused = [*(text for each in manifests for text in each.refused), *twice, *unwritable]
    notes = [note for each in manifests for note in each.notes]
    if more := sum(each.skipped for each in manifests) - len(notes):
        notes.append(f"{more} more objects are skipped")
    if not pairs and not problems and not refused:
        notes.append("no HorizontalPodAutoscaler was found")
    for hpa, block in pairs:
        notes += _left_to_do(hpa, block)
    if adapter is None and pairs:
        notes.append(f"scaleTargetRef.adapter is {_NO_ADAPTER}; name the connection with --adapter")
    _say([*error_lines(problems), *error_lines(refused), *map(plain, notes)])
    show(lines)
    if not pairs or problems or refused:
        raise typer.Exit(1)


def _say(lines: Sequence[str]) -> None:
    if lines:
        typer.echo("\n".join(lines), err=True)


def _written(pairs: _Pairs) -> tuple[_Pairs, Sequence[str], Sequence[str]]:
    """Return those that `check` would accept, their lines, and the problems of the others."""
    accepted, unwritable = [], []
    for hpa, block in pairs:
        try:
            checked_lines([], [block])
        except AutoscalerError as error:
            unwritable.append(f"{hpa.place}: {block.name}: {error}")
        else:
            accepted.append((hpa, block))
    lines = checked_lines([_HEAD], [block for _, block in accepted]) if accepted else []
    return accepted, lines, unwritable


def _block(hpa: manifest.Hpa, name: str, adapter: str | None, kind: str | None) -> AutoscalerBlock:
    metrics = [_metric(metric, target, kind, hpa.target) for metric, target in hpa.metrics]
    return AutoscalerBlock(
        name, adapter or _NO_ADAPTER, _target(hpa, kind), hpa.minimum, hpa.maximum, metrics, hpa.behavior, hpa.labels
    )


def _target(hpa: manifest.Hpa, kind: str | None) -> str:
    """Return the target's name. Kubernetes has no task groups; that the group has its job's name is a guess."""
    return f"{hpa.target}/{hpa.target}" if kind == _NOMAD else hpa.target


def _named(found: Iterable[manifest.Hpa]) -> tuple[Sequence[tuple[manifest.Hpa, str]], Sequence[str]]:
    """Return each with its name, prefixed by its namespace if several share it; and the problems of equal names."""
    hpas = list(found)
    often = Counter(hpa.name for hpa in hpas)
    first: dict[str, manifest.Hpa] = {}
    twice = []
    for hpa in hpas:
        name = hpa.name if often[hpa.name] == 1 else f"{hpa.namespace}-{hpa.name}"
        if name in first:
            message = f"{name} is already the name of the one at {first[name].place}; rename one of them"
            twice.append(f"{hpa.place}: {message}")
        else:
            first[name] = hpa
    return [(hpa, name) for name, hpa in first.items()], twice


def _metric(metric: fields.HpaMetric, target: Mapping[str, Any], kind: str | None, name: str) -> MetricBlock:
    body = metric.body
    match body:
        case fields.ContainerResource():
            hint = f"one sample for each instance, with {body.container} as its label task or container"
            return MetricBlock(
                metric.type, {"name": body.name, "container": body.container}, target, UsualQuery(""), hint
            )
        case fields.Resource():
            known = usual_query(body.name, kind, name)
            hint = "one sample for each instance" + ("; check it" if known else "")
            return MetricBlock(metric.type, {"name": body.name}, target, known or UsualQuery(""), hint)
        case fields.Pods():
            hint = f"one sample for each instance; perhaps sum by (instance) ({series(body.metric)})"
            return MetricBlock(metric.type, _name(body.metric), target, UsualQuery(""), hint)
        case fields.Object():
            about = body.described_object
            shown = {"describedObject": {"kind": about.kind, "name": about.name}}
            hint = f"exactly one sample; perhaps sum({series(body.metric)})"
            return MetricBlock(metric.type, shown | _name(body.metric), target, UsualQuery(""), hint)
        case fields.External():
            hint = f"its samples are summed; perhaps {series(body.metric)}"
            given = body.fallback
            fallback = None if given is None else given.model_dump(by_alias=True, exclude_none=True)
            return MetricBlock(metric.type, _name(body.metric), target, UsualQuery(""), hint, fallback)
    raise AssertionError("a metric without its body is a problem of the manifest")


def _name(metric: fields.Identifier) -> dict[str, Any]:
    return {"metric": {"name": metric.name}}


def _left_to_do(hpa: manifest.Hpa, block: AutoscalerBlock) -> Iterator[str]:
    if block.target != hpa.target:
        guess = f"scaleTargetRef.name {block.target} is a guess, because Kubernetes has no task groups"
        yield f"{hpa.place}: {block.name}: {guess}; write it as JOB/GROUP"
    for index, metric in enumerate(block.metrics):
        what = metric.body.get("name") or metric.body["metric"]["name"]
        todo = "check its query" if metric.query.expr else f"needs a query: {metric.hint}"
        yield f"{hpa.place}: {block.name}: metrics[{index}], {metric.type} {what}: {todo}"
