"""Converts a HorizontalPodAutoscaler to an autoscaler of the configuration."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from autoscaler.config.problems import Problems
from autoscaler.convert import hpa as fields
from autoscaler.convert.blocks import AutoscalerBlock, MetricBlock, UsualQuery, usual_query
from autoscaler.convert.hpa import SPECS, HpaMetric, Metadata, SpecV1, read_target
from autoscaler.convert.imported import MAX_NAME, Destination, Imported, read_model, without_nulls
from autoscaler.convert.series import series
from autoscaler.fields.find_values import Loc

_DEFAULT_CPU_PERCENT: Final = 80
"""Kubernetes' default."""
_ANNOTATIONS: Final = ("autoscaling.alpha.kubernetes.io/metrics", "autoscaling.alpha.kubernetes.io/behavior")
"""What autoscaling/v1 has no field for. Source: pkg/apis/autoscaling/v1/conversion.go."""


def read_hpa(
    value: Mapping[str, Any], loc: Loc, place: str, problems: Problems, destination: Destination
) -> Sequence[Imported]:
    """Return the autoscaler; none: its problems were added to `problems`."""
    value = without_nulls(value)
    version = value.get("apiVersion")
    model = SPECS.get(version) if isinstance(version, str) else None
    if model is None:
        known = ", ".join(sorted(SPECS))
        problems.add((*loc, "apiVersion"), f"is not one of {known}; `kubectl get hpa -o yaml` writes autoscaling/v2")
        return ()
    given = value.get("spec")
    given = given if isinstance(given, dict) else {}
    metadata = read_model(Metadata, value.get("metadata"), (*loc, "metadata"), problems)
    if metadata is not None and (owner := _scaled_object(metadata)) is not None:
        message = f"KEDA has made it for the ScaledObject {owner}; import the ScaledObject instead"
        problems.add((*loc, "metadata", "ownerReferences"), message)
        return ()
    spec = read_model(model, given, (*loc, "spec"), problems)
    if metadata is None or spec is None:
        return ()
    if isinstance(spec, SpecV1):
        wanted = _metrics_of_v1(spec, metadata, (*loc, "metadata", "annotations"), problems)
    else:
        wanted = given.get("metrics") or [_cpu_metric(None)]
    if not wanted:
        return ()
    if spec.min_replicas == 0 and not any(each["type"] in ("Object", "External") for each in wanted):
        message = "0 needs an Object or External metric, as in Kubernetes; add one, or write 1"
        problems.add((*loc, "spec", "minReplicas"), message)
        return ()
    name = spec.scale_target_ref.name
    block = AutoscalerBlock(
        metadata.name,
        destination.adapter,
        destination.target(name),
        1 if spec.min_replicas is None else spec.min_replicas,
        spec.max_replicas,
        [_metric(each, destination.type, name, spec.max_replicas) for each in wanted],
        given.get("behavior") or None,
        metadata.labels,
        reserves=destination.reserves,
    )
    todo = [*guesses(block, name), *_ignored(wanted), *_queries_to_write(block)]
    return [Imported(place, metadata.namespace, block, todo)]


def _scaled_object(metadata: Metadata) -> str | None:
    """Return the name of the ScaledObject that owns the HPA; None: there is none."""
    owners = metadata.owner_references if isinstance(metadata.owner_references, list) else []
    names = [each.get("name") for each in owners if isinstance(each, dict) and each.get("kind") == "ScaledObject"]
    return str(names[0])[:MAX_NAME] if names else None


def _ignored(metrics: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Yield what of the targets the HPA does not read."""
    for index, each in enumerate(metrics):
        metric = HpaMetric.model_validate(each, by_alias=True, by_name=False)
        target = each[metric.key]["target"]
        read = read_target(metric.type, target)
        for key in target:
            if target[key] != read.get(key):
                what = f"metrics[{index}], {metric.type}: target.{key} {str(target[key])[:MAX_NAME]}"
                yield f"{what} is left out, because the HPA does not read it"


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


def _metrics_of_v1(spec: SpecV1, metadata: Metadata, loc: Loc, problems: Problems) -> Sequence[Mapping[str, Any]]:
    """Return the only metric that autoscaling/v1 has a field for.

    Returns none if an annotation, which the API server writes, has others; that is added to `problems`.
    """
    lost = [key for key in _ANNOTATIONS if isinstance(metadata.annotations, dict) and key in metadata.annotations]
    for key in lost:
        problems.add((*loc, key), "autoscaling/v1 has no field for this; use `kubectl get hpa.v2.autoscaling -o yaml`")
    return [] if lost else [_cpu_metric(spec.target_cpu_utilization_percentage)]


def _cpu_metric(percent: int | None) -> Mapping[str, Any]:
    """Return the metric for a `targetCPUUtilizationPercentage`; None: Kubernetes' default."""
    target = {"type": "Utilization", "averageUtilization": percent or _DEFAULT_CPU_PERCENT}
    return {"type": "Resource", "resource": {"name": "cpu", "target": target}}


def _metric(given: Mapping[str, Any], kind: str | None, name: str, maximum: int) -> MetricBlock:
    """Return a metric of a valid manifest, with its target as it is written."""
    metric = HpaMetric.model_validate(given, by_alias=True, by_name=False)
    target = read_target(metric.type, given[metric.key]["target"])
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
            other = body.fallback
            fallback = None if other is None else other.model_dump(by_alias=True, exclude_none=True)
            if fallback is not None:
                fallback["replicas"] = min(fallback["replicas"], maximum)
            return MetricBlock(metric.type, _name(body.metric), target, UsualQuery(""), hint, fallback)
    raise AssertionError("each type of metric has a body")


def _name(metric: fields.Identifier) -> dict[str, Any]:
    return {"metric": {"name": metric.name}}
