"""`autoscaler import`: HorizontalPodAutoscaler manifests as our configuration."""

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from autoscaler.cli import manifest
from autoscaler.cli.blocks import AutoscalerBlock, MetricBlock, UsualQuery, usual_query
from autoscaler.cli.create import adapter_type
from autoscaler.cli.output import exit_on_error, show
from autoscaler.cli.reread import checked_lines
from autoscaler.cli.source import DEFAULT_CONFIG
from autoscaler.errors import AutoscalerError
from autoscaler.text import plain

_NO_ADAPTER: Final = "CHANGE-ME"
_HEAD: Final = "Add these to the configuration, write the missing queries, then run: autoscaler check"


def import_(
    files: Annotated[list[Path], typer.Argument(metavar="FILE", help="The manifests; - is standard input.")],
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
        hpas = [hpa for each in manifests for hpa in each.hpas]
        blocks = [_block(hpa, name, adapter, kind) for hpa, name in zip(hpas, _names(hpas), strict=True)]
        lines = checked_lines([_HEAD], blocks) if blocks else []
    notes = [note for each in manifests for note in each.notes]
    if more := sum(each.skipped for each in manifests) - len(notes):
        notes.append(f"{more} more objects are skipped")
    if not hpas:
        _say([*notes, "no HorizontalPodAutoscaler was found"])
        raise typer.Exit(1)
    for hpa, block in zip(hpas, blocks, strict=True):
        notes += _left_to_do(hpa, block)
    if adapter is None:
        notes.append(f"scaleTargetRef.adapter is {_NO_ADAPTER}; name the connection with --adapter")
    _say(notes)
    show(lines)


def _say(notes: Iterable[str]) -> None:
    typer.echo("\n".join(map(plain, notes)), err=True)


def _block(hpa: manifest.Hpa, name: str, adapter: str | None, kind: str | None) -> AutoscalerBlock:
    metrics = [_metric(metric, target, kind, hpa.target) for metric, target in hpa.metrics]
    return AutoscalerBlock(
        name, adapter or _NO_ADAPTER, hpa.target, hpa.minimum, hpa.maximum, metrics, hpa.behavior, hpa.labels
    )


def _names(hpas: Sequence[manifest.Hpa]) -> Sequence[str]:
    """Their own; with the namespace before it where several have one name. Raises AutoscalerError."""
    often = Counter(hpa.name for hpa in hpas)
    names = [hpa.name if often[hpa.name] == 1 else f"{hpa.namespace}-{hpa.name}" for hpa in hpas]
    places: dict[str, str] = {}
    for hpa, name in zip(hpas, names, strict=True):
        first = places.setdefault(name, hpa.place)
        if first != hpa.place:
            raise AutoscalerError(f"{hpa.place}: {name} is already the name of the one at {first}; rename one of them")
    return names


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
    if re.fullmatch(r"[A-Za-z_:][A-Za-z0-9_:]*", metric.name):
        return metric.name + (f"{{{','.join(matchers)}}}" if matchers else "")
    return f"{{{','.join([f'__name__={json.dumps(metric.name)}', *matchers])}}}"


def _matchers(selector: manifest.Selector) -> Iterator[str]:
    for key, value in selector.match_labels.items():
        yield f"{_label(key)}={json.dumps(value)}"
    for each in selector.match_expressions:
        match each.operator:
            case "In" | "NotIn":
                sign = "=~" if each.operator == "In" else "!~"
                yield f"{_label(each.key)}{sign}{json.dumps('|'.join(each.values).replace('.', '[.]'))}"
            case "Exists" | "DoesNotExist":
                yield f'{_label(each.key)}{"!=" if each.operator == "Exists" else "="}""'


def _label(key: str) -> str:
    """A label's key as Prometheus' service discovery writes it."""
    return re.sub(r"[^A-Za-z0-9_]", "_", key)


def _left_to_do(hpa: manifest.Hpa, block: AutoscalerBlock) -> Iterator[str]:
    for index, metric in enumerate(block.metrics):
        what = metric.body.get("name") or metric.body["metric"]["name"]
        todo = "check that its query fits" if metric.query.expr else f"needs a query: {metric.hint}"
        yield f"{hpa.place}: {block.name}: metrics[{index}], {metric.type} {what}: {todo}"
