"""`autoscaler import`: HorizontalPodAutoscaler manifests as our configuration."""

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from autoscaler.cli import manifest
from autoscaler.cli.blocks import AutoscalerBlock, MetricBlock, UsualQuery, section_lines, usual_query
from autoscaler.cli.create import adapter_type
from autoscaler.cli.output import exit_on_error, show
from autoscaler.cli.source import DEFAULT_CONFIG
from autoscaler.text import clean

_NO_ADAPTER: Final = "CHANGE-ME"


def import_(
    files: Annotated[list[Path], typer.Argument(metavar="FILE...", help="The manifests; - is standard input.")],
    *,
    adapter: Annotated[
        str | None, typer.Option("--adapter", metavar="NAME", help="The connection in `adapters` that has the targets.")
    ] = None,
    config_file: Annotated[
        Path | None,
        typer.Option(
            "--config.file",
            metavar="FILE",
            help=f"The configuration that it is for; queries depend on its adapter's type. Default: {DEFAULT_CONFIG}.",
        ),
    ] = None,
) -> None:
    """Print the section `autoscalers` for HorizontalPodAutoscaler manifests (autoscaling/v2 and v1).

    Metrics that still need a query, or that should be looked at again, are listed on standard error.
    """
    with exit_on_error():
        kind = None if adapter is None else adapter_type(adapter, config_file)
        manifests = [manifest.read_manifest(Path("/dev/stdin") if str(file) == "-" else file) for file in files]
    for note in [note for each in manifests for note in each.notes]:
        typer.echo(clean(note), err=True)
    hpas = [hpa for each in manifests for hpa in each.hpas]
    if not hpas:
        typer.echo("no HorizontalPodAutoscaler was found", err=True)
        raise typer.Exit(1)
    names = _names(hpas)
    blocks = []
    for hpa, name in zip(hpas, names, strict=True):
        metrics = [_metric(metric, target, kind, hpa.target) for metric, target in hpa.metrics]
        blocks.append(
            AutoscalerBlock(name, adapter or _NO_ADAPTER, hpa.target, hpa.minimum, hpa.maximum, metrics, hpa.behavior)
        )
        for line in _left_to_do(hpa, name, metrics):
            typer.echo(clean(line), err=True)
    if adapter is None:
        typer.echo(f"scaleTargetRef.adapter is {_NO_ADAPTER}; name the connection with --adapter", err=True)
    head = "# Add these to the configuration, write the missing queries, then run: autoscaler check"
    show([head, *section_lines(blocks)])


def _names(hpas: Sequence[manifest.Hpa]) -> Sequence[str]:
    """Their own; with the namespace before it where several have one name."""
    plain = [hpa.name for hpa in hpas]
    return [hpa.name if plain.count(hpa.name) == 1 else f"{hpa.namespace}-{hpa.name}" for hpa in hpas]


def _metric(metric: manifest.HpaMetric, target: Mapping[str, Any], kind: str | None, name: str) -> MetricBlock:
    body = metric.body
    match body:
        case manifest.ContainerResource():
            hint = f"one sample for each instance, with {body.container} as its label task or container"
            return MetricBlock(
                metric.type, {"name": body.name, "container": body.container}, target, UsualQuery(""), hint
            )
        case manifest.Resource():
            known = usual_query(body.name, kind, name)
            hint = "one sample for each instance" + ("; check that it fits" if known else "")
            return MetricBlock(metric.type, {"name": body.name}, target, known or UsualQuery(""), hint)
        case manifest.Pods():
            hint = f"one sample for each instance; perhaps sum by (instance) ({_series(body.metric)})"
            return MetricBlock(metric.type, _named(body.metric), target, UsualQuery(""), hint)
        case manifest.Object():
            about = body.described_object
            shown = {"describedObject": {"kind": about.kind, "name": about.name}}
            hint = f"exactly one sample; perhaps sum({_series(body.metric)})"
            return MetricBlock(metric.type, shown | _named(body.metric), target, UsualQuery(""), hint)
        case manifest.Total():
            hint = f"its samples are summed; perhaps {_series(body.metric)}"
            return MetricBlock(metric.type, _named(body.metric), target, UsualQuery(""), hint)
    raise AssertionError("a metric without its body is a problem of the manifest")


def _named(metric: manifest.Identifier) -> dict[str, Any]:
    return {"metric": {"name": metric.name}}


def _series(metric: manifest.Identifier) -> str:
    """A selector of Prometheus that says what Kubernetes' own does."""
    matchers = list(_matchers(metric.selector)) if metric.selector is not None else []
    return metric.name + (f"{{{','.join(matchers)}}}" if matchers else "")


def _matchers(selector: manifest.Selector) -> Iterator[str]:
    for label, value in selector.match_labels.items():
        yield f"{label}={json.dumps(value)}"
    for each in selector.match_expressions:
        match each.operator:
            case "In" | "NotIn":
                sign = "=~" if each.operator == "In" else "!~"
                yield f"{each.key}{sign}{json.dumps('|'.join(each.values))}"
            case "Exists" | "DoesNotExist":
                yield f'{each.key}{"!=" if each.operator == "Exists" else "="}""'


def _left_to_do(hpa: manifest.Hpa, name: str, metrics: Sequence[MetricBlock]) -> Iterator[str]:
    for index, metric in enumerate(metrics):
        what = metric.body.get("name") or metric.body["metric"]["name"]
        todo = "check that its query fits" if metric.query.expr else f"needs a query: {metric.hint}"
        yield f"{hpa.place}: {name}: metrics[{index}], {metric.type} {what}: {todo}"
