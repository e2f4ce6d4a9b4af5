"""Converts a ScaledObject of KEDA to an autoscaler of the configuration.

Source: keda.sh/docs, "ScaledObject specification" and "Scaling Deployments", for pauses.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from autoscaler.config.problems import Problems
from autoscaler.convert.blocks import NO_METRIC, AutoscalerBlock, MetricBlock
from autoscaler.convert.hpa import Metadata
from autoscaler.convert.import_hpa import guesses
from autoscaler.convert.imported import MAX_NAME, Destination, Found, Imported, read_model, without_nulls
from autoscaler.convert.keda_exporters import EXPORTED
from autoscaler.convert.keda_fields import Spec, unknown_fields
from autoscaler.convert.keda_triggers import FALLBACKS, FALSE, IMPORTED, convert_trigger
from autoscaler.fields.find_values import Loc

_PREFIX: Final = "autoscaling.keda.sh/"
_PAUSED: Final = {
    "paused-scale-in": "scaleDown",
    "paused-scale-down": "scaleDown",
    "paused-scale-out": "scaleUp",
}
"""Annotation -> the key of `behavior` for the direction that it pauses."""


def read_scaled_object(
    value: Mapping[str, Any], loc: Loc, place: str, problems: Problems, destination: Destination
) -> Sequence[Imported]:
    """Return the autoscaler; none: its problems were added to `problems`."""
    value = without_nulls(value)
    metadata = read_model(Metadata, value.get("metadata"), (*loc, "metadata"), problems)
    given = value.get("spec")
    spec = read_model(Spec, given, (*loc, "spec"), problems)
    if metadata is None or spec is None or not isinstance(given, dict):
        return ()
    found, target = Found(), destination.target(spec.scale_target_ref.name)
    for index, trigger in enumerate(spec.triggers):
        try:
            convert_trigger(index, trigger, spec, metadata.namespace, target, destination, found)
        except ValueError as error:
            problems.add((*loc, "spec", "triggers", index), str(error))
            return ()
    minimum, idles = spec.min_replica_count, spec.can_idle
    if not found.metrics:
        if not found.schedules:
            known = ", ".join([*IMPORTED, *EXPORTED])
            problems.add((*loc, "spec", "triggers"), f"has no trigger that can be imported; {known} can")
            return ()
        found.metrics.append(NO_METRIC)
    elif idles and all(metric.type != "External" for metric in found.metrics):
        minimum, idles = max(minimum, 1), False
        found.todo.append(f"minReplicas is {minimum}: no trigger can ask for instances at 0")
    behavior = ((given.get("advanced") or {}).get("horizontalPodAutoscalerConfig") or {}).get("behavior")
    block = AutoscalerBlock(
        metadata.name,
        destination.adapter,
        target,
        minimum,
        spec.max_replica_count,
        found.metrics,
        behavior or None,
        metadata.labels,
        schedules=found.schedules,
        idle_replicas=0 if idles and minimum else None,
        cooldown=f"{spec.cooldown_period}s" if idles else None,
        reserves=destination.reserves,
    )
    found.todo += guesses(block, spec.scale_target_ref.name)
    found.differences += [f"{path} is left out" for path in unknown_fields(spec, "spec")]
    found.differences += [*_of_spec(spec, found.metrics), *_of_annotations(metadata)]
    return [Imported(place, metadata.namespace, block, found.todo, found.differences)]


def _of_spec(spec: Spec, metrics: Sequence[MetricBlock]) -> Iterator[str]:
    if spec.idle_replica_count:
        yield f"idleReplicaCount {spec.idle_replica_count} is left out; KEDA refuses it, too: only 0 is possible"
    fallback = spec.fallback
    if fallback is None:
        return
    if fallback.behavior not in FALLBACKS:
        yield f"fallback {fallback.behavior[:MAX_NAME]} is left out; while a metric fails, nothing scales in"
    elif fallback.replicas == 0:
        yield "a fallback to 0 replicas is left out"
    elif all(metric.type != "External" for metric in metrics):
        yield "fallback is left out, because KEDA has none for cpu, memory and cron"


def _of_annotations(metadata: Metadata) -> Iterator[str]:
    """Yield what KEDA's annotations ask for: none is imported."""
    annotations = metadata.annotations if isinstance(metadata.annotations, dict) else {}
    given = {
        key.removeprefix(_PREFIX): str(value).lower() if isinstance(value, bool) else str(value)
        for key, value in annotations.items()
        if key.startswith(_PREFIX)
    }
    replicas, name = given.pop("paused-replicas", None), metadata.name
    if replicas is not None:
        yield f"it is paused at {replicas[:MAX_NAME]} replicas: {_pause_at(replicas, name)}"
    elif given.get("paused", "false") not in FALSE:
        yield f"it is paused: autoscaler pause {name}"
    given.pop("paused", None)
    for key in sorted(key for key in given if given[key] not in FALSE):
        if key in _PAUSED:
            rules = f"{{{_PAUSED[key]}: {{selectPolicy: Disabled}}}}"
            yield f"its {key.removeprefix('paused-')} is paused: behavior: {rules}"
        elif key == "force-activation":
            yield "annotation force-activation is left out; while KEDA has it, all triggers are active: minReplicas: 1"
        else:
            yield f"annotation {_PREFIX}{key[:MAX_NAME]} is left out"


def _pause_at(replicas: str, name: str) -> str:
    """Return how to keep a size. An override has a maximum of at least 1."""
    if re.fullmatch(r"0*[1-9][0-9]{0,8}", replicas, re.ASCII):
        return f"autoscaler override {name} --min {int(replicas)} --max {int(replicas)}"
    return f"set its size to that, then autoscaler pause {name}"
