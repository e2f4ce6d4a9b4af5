"""Converts a HorizontalPodAutoscaler to an autoscaler of the configuration."""

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from autoscaler.cli import hpa as fields
from autoscaler.cli import hpa_v1
from autoscaler.cli.blocks import AutoscalerBlock, MetricBlock, UsualQuery, usual_query
from autoscaler.cli.hpa import SPECS, HpaMetric, Metadata, Spec, SpecV1, SpecV2, target_in_effect
from autoscaler.cli.imported import Destination, Imported, read_model
from autoscaler.cli.series import series
from autoscaler.config.behavior import Behavior
from autoscaler.config.document import Loc
from autoscaler.config.problems import Problems


def read_hpa(
    value: Mapping[str, Any], loc: Loc, place: str, problems: Problems, destination: Destination
) -> Sequence[Imported]:
    """Return the autoscaler; none: its problems were added to `problems`."""
    version = value.get("apiVersion")
    model = SPECS.get(version) if isinstance(version, str) else None
    if model is None:
        known = ", ".join(sorted(SPECS))
        problems.add((*loc, "apiVersion"), f"is not one of {known}; `kubectl get hpa -o yaml` writes autoscaling/v2")
        return ()
    given = _in_effect(value.get("spec"))
    metadata = read_model(Metadata, value.get("metadata"), (*loc, "metadata"), problems)
    spec = read_model(model, given, (*loc, "spec"), problems)
    if metadata is None or spec is None:
        return ()
    if isinstance(spec, SpecV1):
        wanted = _wanted_by_v1(spec, metadata, (*loc, "metadata", "annotations"), problems)
    else:
        wanted = _wanted_by_v2(spec, given, (*loc, "spec", "metrics"), problems)
    if wanted is None:
        return ()
    metrics, behavior = wanted
    name = spec.scale_target_ref.name
    block = AutoscalerBlock(
        metadata.name,
        destination.adapter,
        destination.target(name),
        1 if spec.min_replicas is None else spec.min_replicas,
        spec.max_replicas,
        [_metric(metric, target, destination.type, name) for metric, target in metrics],
        behavior,
        metadata.labels,
    )
    return [Imported(place, metadata.namespace, block, [*guesses(block, name), *_queries_to_write(block)])]


def guesses(block: AutoscalerBlock, name: str) -> Sequence[str]:
    """Return what is guessed of the target with this name in Kubernetes."""
    if block.target == name:
        return []
    guess = f"scaleTargetRef.name {block.target} is a guess, because Kubernetes has no task groups"
    return [f"{guess}; write it as JOB/GROUP"]


def _queries_to_write(block: AutoscalerBlock) -> Sequence[str]:
    lines = []
    for index, metric in enumerate(block.metrics):
        what = metric.body.get("name") or metric.body["metric"]["name"]
        todo = "check its query" if metric.query.expr else f"needs a query: {metric.hint}"
        lines.append(f"metrics[{index}], {metric.type} {what}: {todo}")
    return lines


_Wanted: TypeAlias = tuple[Sequence[tuple[HpaMetric, Mapping[str, Any]]], Mapping[str, Any] | None]
"""The metrics, each with its target, and the behavior."""


def _in_effect(spec: Any) -> dict[str, Any]:
    """Return a spec with each metric's target as Kubernetes' controller uses it."""
    given = spec if isinstance(spec, dict) else {}
    metrics = given.get("metrics")
    if not isinstance(metrics, list):
        return given
    return given | {"metrics": [_metric_in_effect(each) for each in metrics]}


def _metric_in_effect(metric: Any) -> Any:
    if not isinstance(metric, dict):
        return metric
    return {
        key: each | {"target": target_in_effect(key, each["target"])}
        if isinstance(each, dict) and "target" in each
        else each
        for key, each in metric.items()
    }


def _wanted_by_v2(spec: Spec, given: Mapping[str, Any], loc: Loc, problems: Problems) -> _Wanted | None:
    metrics = spec.metrics if isinstance(spec, SpecV2) else None
    raw = given["metrics"] if metrics else [hpa_v1.cpu_metric(None)]
    found = _with_targets(metrics or [HpaMetric.model_validate(each) for each in raw], raw, loc, problems)
    return None if found is None else (found, given.get("behavior") or None)


def _wanted_by_v1(spec: SpecV1, metadata: Metadata, loc: Loc, problems: Problems) -> _Wanted | None:
    annotations = metadata.annotations if isinstance(metadata.annotations, dict) else {}
    kept = {key: annotations.get(key) for key in (hpa_v1.METRICS, hpa_v1.BEHAVIOR)}
    metrics, behavior, at = list[Any](), None, hpa_v1.METRICS
    try:
        if isinstance(text := kept[hpa_v1.METRICS], str):
            metrics = hpa_v1.metrics_of(text)
        at = hpa_v1.BEHAVIOR
        if isinstance(text := kept[hpa_v1.BEHAVIOR], str):
            behavior = hpa_v1.behavior_of(text)
    except ValueError as error:
        problems.add((*loc, at), str(error))
        return None
    percent = spec.target_cpu_utilization_percentage
    if percent is not None or not metrics:
        metrics.append(hpa_v1.cpu_metric(percent))
    metrics = [_metric_in_effect(each) for each in metrics]
    read_metrics = [read_model(HpaMetric, each, (*loc, hpa_v1.METRICS), problems) for each in metrics]
    if behavior is not None and read_model(Behavior, behavior, (*loc, hpa_v1.BEHAVIOR), problems) is None:
        return None
    right = [each for each in read_metrics if each is not None]
    if len(right) < len(metrics):
        return None
    found = _with_targets(right, metrics, (*loc, hpa_v1.METRICS), problems)
    return None if found is None else (found, behavior)


def _with_targets(
    metrics: Sequence[HpaMetric], raw: Sequence[Mapping[str, Any]], loc: Loc, problems: Problems
) -> Sequence[tuple[HpaMetric, Mapping[str, Any]]] | None:
    found = []
    for index, (metric, source) in enumerate(zip(metrics, raw, strict=True)):
        key = metric.type[:1].lower() + metric.type[1:]
        if metric.body is None:
            problems.add((*loc, index), f"{key} is missing; a metric of type {metric.type} needs it")
        else:
            found.append((metric, source[key]["target"]))
    return found if len(found) == len(metrics) else None


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
