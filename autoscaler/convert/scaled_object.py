"""Converts a ScaledObject of KEDA to an autoscaler of the configuration.

Source: keda.sh/docs, "ScaledObject specification" and the scalers prometheus, cron, cpu and memory; for what KEDA does
with failures and with several series, KEDA's pkg/fallback and pkg/scalers.
"""

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, Final, Literal, TypeAlias

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field
from pydantic.alias_generators import to_camel

from autoscaler.config.behavior import Behavior
from autoscaler.config.document import Loc
from autoscaler.config.problems import Problems
from autoscaler.convert.blocks import AutoscalerBlock, MetricBlock, UsualQuery, usual_query
from autoscaler.convert.hpa import Metadata
from autoscaler.convert.import_hpa import guesses
from autoscaler.convert.imported import Destination, Imported, read_model
from autoscaler.errors import QuantityError
from autoscaler.quantity import format_quantity, parse_exact

_HPA_PERIOD_SECONDS: Final = 15
"""How often the HPA that KEDA makes asks for its metrics."""
_LONGEST_NAME: Final = 64


def _as_text(value: Any) -> Any:
    """Return a value of `metadata` as Kubernetes has it: a text. YAML reads one without quotes as a number."""
    if isinstance(value, bool):
        return str(value).lower()
    return str(value) if isinstance(value, int | float) else value


_Count: TypeAlias = Annotated[int, Field(strict=True, ge=0, le=2**31 - 1)]
_Text: TypeAlias = Annotated[str, BeforeValidator(_as_text)]


class _KedaModel(BaseModel):
    """Other fields are kept as extra ones: KEDA adds some with each version."""

    model_config = ConfigDict(extra="allow", frozen=True, alias_generator=to_camel)


class Reference(_KedaModel):
    """The object that is scaled."""

    name: str


class Trigger(_KedaModel):
    """A source of a metric."""

    type: str
    name: str | None = None
    metadata: Mapping[str, _Text] = Field(default_factory=dict)
    metric_type: Literal["AverageValue", "Value", "Utilization"] | None = None
    authentication_ref: Any = None


class Fallback(_KedaModel):
    """The size while a trigger fails."""

    failure_threshold: _Count
    replicas: _Count
    behavior: str = "static"


class HpaConfig(_KedaModel):
    """The HPA that KEDA makes."""

    behavior: Behavior | None = None


class Advanced(_KedaModel):
    """Rare settings."""

    horizontal_pod_autoscaler_config: HpaConfig = HpaConfig()


class Spec(_KedaModel):
    """What a ScaledObject asks for."""

    scale_target_ref: Reference
    polling_interval: _Count = 30
    cooldown_period: _Count = 300
    min_replica_count: _Count = 0
    idle_replica_count: _Count | None = None
    max_replica_count: _Count = 100
    fallback: Fallback | None = None
    advanced: Advanced = Advanced()
    triggers: tuple[Trigger, ...]

    @property
    def can_idle(self) -> bool:
        """Return whether it goes to 0 while no trigger is active."""
        return 0 in (self.min_replica_count, self.idle_replica_count)


_CARRIED: Final = {
    "spec": {"scaleTargetRef", "pollingInterval", "cooldownPeriod", "initialCooldownPeriod", "idleReplicaCount",
             "minReplicaCount", "maxReplicaCount", "fallback", "advanced", "triggers"},
    "advanced": {"horizontalPodAutoscalerConfig", "restoreToOriginalReplicaCount"},
}  # fmt: skip
"""Fields that are carried over, or that have no effect on the size here."""
_OF_SOURCE: Final = {
    "authModes": "basicAuth, bearerTokenFile, oauth2, sigv4 or tls",
    "customHeaders": "headers",
    "queryParameters": "params",
    "namespace": "params: {namespace: …}",
    "unsafeSsl": "tls: {insecureSkipVerify: true}",
    "timeout": "timeout",
}
"""A key of a prometheus trigger -> that of its source in `prometheus`."""


@dataclass(slots=True)
class _Found:
    """What a ScaledObject becomes, as it is read."""

    metrics: list[MetricBlock] = field(default_factory=list)
    schedules: list[Mapping[str, Any]] = field(default_factory=list)
    todo: list[str] = field(default_factory=list)
    differences: list[str] = field(default_factory=list)


def read_scaled_object(
    value: Mapping[str, Any], loc: Loc, place: str, problems: Problems, destination: Destination
) -> Sequence[Imported]:
    """Return the autoscaler; none: its problems were added to `problems`."""
    metadata = read_model(Metadata, value.get("metadata"), (*loc, "metadata"), problems)
    given = value.get("spec")
    spec = read_model(Spec, given, (*loc, "spec"), problems)
    if metadata is None or spec is None or not isinstance(given, dict):
        return ()
    found, target = _Found(), destination.target(spec.scale_target_ref.name)
    sources = _sources(spec)
    for index, trigger in enumerate(spec.triggers):
        try:
            _convert(index, trigger, spec, sources, target, destination, found)
        except ValueError as error:
            problems.add((*loc, "spec", "triggers", index), str(error))
            return ()
    minimum, idles = spec.min_replica_count, spec.can_idle
    if not found.metrics:
        if not found.schedules:
            problems.add((*loc, "spec", "triggers"), "has no trigger of type prometheus, cpu, memory or cron")
            return ()
        hint = "a constant: the schedule alone sets the size"
        goal = {"type": "AverageValue", "averageValue": 1}
        found.metrics.append(MetricBlock("External", _named("none"), goal, UsualQuery("vector(0)"), hint))
    elif idles and all(metric.type != "External" for metric in found.metrics):
        minimum, idles = max(minimum, 1), False
        found.todo.append(f"minReplicas is {minimum}: no trigger can ask for instances at 0")
    behavior = _get(given, "advanced", "horizontalPodAutoscalerConfig", "behavior")
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
    )
    found.todo += [
        *guesses(block, spec.scale_target_ref.name),
        *(f"it reads {url}: name that source {name} in `prometheus`" for url, name in sources.items()),
    ]
    found.differences += [*_fields_left_out(given), *_of_spec(spec), *_of_pauses(metadata)]
    return [Imported(place, metadata.namespace, block, found.todo, found.differences)]


def _get(value: Any, *keys: str) -> Any:
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    return value


def _sources(spec: Spec) -> Mapping[str, str]:
    """Return server's URL -> name in `prometheus`: the most common one is the default."""
    urls = Counter(
        url for each in spec.triggers if each.type == "prometheus" and (url := each.metadata.get("serverAddress"))
    )
    return {
        url: "default" if number == 0 else f"prometheus-{number + 1}"
        for number, (url, _) in enumerate(urls.most_common())
    }


def _convert(
    index: int,
    trigger: Trigger,
    spec: Spec,
    sources: Mapping[str, str],
    target: str,
    destination: Destination,
    found: _Found,
) -> None:
    """Add what a trigger becomes. Raises ValueError for one that KEDA would refuse."""
    what = f"triggers[{index}], {trigger.type[:_LONGEST_NAME]}"
    match trigger.type:
        case "prometheus":
            found.metrics.append(_prometheus(index, trigger, spec, sources))
            found.todo += [f"{what}: {text}" for text in _to_check(trigger)]
            found.differences += [f"{what}: {text}" for text in _without_data(trigger)]
        case "cpu" | "memory":
            metric = _resource(trigger, usual_query(trigger.type, destination.type, target))
            found.metrics.append(metric)
            found.todo.append(f"{what}: {'check its query' if metric.query.expr else f'needs a query: {metric.hint}'}")
        case "cron":
            found.schedules.append(_schedule(trigger, spec))
            found.differences.append(
                f"{what}: it is a schedule. Its minimum is reached at once; in KEDA desiredReplicas is a metric, "
                "and behavior applies"
            )
        case _:
            found.differences.append(
                f"{what}: it is left out. Export its value to Prometheus, and write an External metric for it"
            )


def _required(trigger: Trigger, key: str) -> str:
    text = trigger.metadata.get(key, "")
    if not text.strip():
        raise ValueError(f"metadata.{key} is missing; a trigger of type {trigger.type} needs it")
    return text


def _number(trigger: Trigger, key: str) -> int:
    """Return a number in thousandths, truncated as KEDA does."""
    text = _required(trigger, key)
    try:
        milli = math.floor(parse_exact(text) * 1000)
    except QuantityError:
        milli = -1
    if milli < 0:
        raise ValueError(f"metadata.{key} is {text[:_LONGEST_NAME]!r}; write a number of at least 0")
    return milli


def _named(name: str) -> dict[str, Any]:
    return {"metric": {"name": name}}


def _prometheus(index: int, trigger: Trigger, spec: Spec, sources: Mapping[str, str]) -> MetricBlock:
    if trigger.metric_type == "Utilization":
        raise ValueError("metricType Utilization is for cpu and memory; write AverageValue or Value")
    source = sources.get(_required(trigger, "serverAddress"))
    expr, kind = _required(trigger, "query").strip(), trigger.metric_type or "AverageValue"
    threshold = _number(trigger, "threshold")
    if threshold == 0:
        raise ValueError("metadata.threshold is 0; write a number above 0")
    activation = None
    if spec.can_idle and trigger.metadata.get("activationThreshold"):
        activation = format_quantity(_number(trigger, "activationThreshold"))
    return MetricBlock(
        "External",
        _named((trigger.name or trigger.metadata.get("metricName") or f"s{index}-prometheus")[:253]),
        {"type": kind, kind[:1].lower() + kind[1:]: format_quantity(threshold)},
        UsualQuery(expr, source=None if source == "default" else source),
        "the samples are summed",
        _fallback(spec) if kind == "AverageValue" else None,
        activation,
    )


def _fallback(spec: Spec) -> Mapping[str, Any] | None:
    """Return the fallback of a metric.

    KEDA counts failures of its own polls and of the HPA's requests, and falls back after more than the threshold.
    """
    given = spec.fallback
    if given is None or given.behavior not in ("static", "currentReplicasIfHigher") or given.replicas == 0:
        return None
    a_second = 1 / max(spec.polling_interval, 1) + 1 / _HPA_PERIOD_SECONDS
    after = max(1, round((given.failure_threshold + 1) / a_second))
    static = {"allowScaleIn": True} if given.behavior == "static" else {}
    return {"failureDurationSeconds": after, "replicas": given.replicas, **static}


def _to_check(trigger: Trigger) -> Iterator[str]:
    yield "KEDA fails if the query returns several series; here they are summed"
    for key, here in _OF_SOURCE.items():
        if trigger.metadata.get(key):
            yield f"{key} belongs to the source: {here}"
    if trigger.authentication_ref is not None:
        yield "authenticationRef belongs to the source: basicAuth, bearerTokenFile, oauth2, sigv4 or tls"


def _without_data(trigger: Trigger) -> Iterator[str]:
    if trigger.metadata.get("ignoreNullValues", "true").lower() != "false":
        yield (
            "KEDA takes an answer without data, NaN and Inf for 0; here they are errors, and nothing scales in. "
            'Where no data means 0, write: QUERY or 0 * max(up{job="JOB"} == 1)'
        )


def _resource(trigger: Trigger, usual: UsualQuery | None) -> MetricBlock:
    kind = trigger.metric_type or trigger.metadata.get("type") or "Utilization"
    value = _required(trigger, "value")
    if kind == "Utilization":
        goal: Mapping[str, Any] = {"type": kind, "averageUtilization": _number(trigger, "value") // 1000}
    elif kind == "AverageValue":
        goal = {"type": kind, "averageValue": value}
    else:
        raise ValueError(
            f"metricType {kind[:_LONGEST_NAME]} is not for {trigger.type}; write Utilization or AverageValue"
        )
    if container := trigger.metadata.get("containerName"):
        body = {"name": trigger.type, "container": container}
        hint = f"one sample for each instance, with {container} as its label task or container"
        return MetricBlock("ContainerResource", body, goal, UsualQuery(""), hint)
    return MetricBlock(
        "Resource", {"name": trigger.type}, goal, usual or UsualQuery(""), "one sample for each instance"
    )


def _schedule(trigger: Trigger, spec: Spec) -> Mapping[str, Any]:
    replicas = _number(trigger, "desiredReplicas") // 1000
    return {
        "cron": _required(trigger, "start"),
        "until": _required(trigger, "end"),
        "timezone": _required(trigger, "timezone"),
        "minReplicas": min(replicas, spec.max_replica_count),
    }


def _fields_left_out(given: Mapping[str, Any]) -> Iterator[str]:
    for path, known in _CARRIED.items():
        part = given if path == "spec" else given.get(path)
        for key in sorted(set(part) - known) if isinstance(part, dict) else ():
            yield f"{path}.{str(key)[:_LONGEST_NAME]} is left out"


def _of_spec(spec: Spec) -> Iterator[str]:
    if spec.idle_replica_count:
        yield f"idleReplicaCount {spec.idle_replica_count} is left out; KEDA refuses it, too: only 0 is possible"
    fallback = spec.fallback
    if fallback is None:
        return
    if fallback.replicas == 0:
        yield "a fallback to 0 replicas is left out"
    elif fallback.behavior not in ("static", "currentReplicasIfHigher"):
        yield f"fallback {fallback.behavior[:_LONGEST_NAME]} is left out; while a metric fails, nothing scales in"


def _of_pauses(metadata: Metadata) -> Iterator[str]:
    annotations = metadata.annotations if isinstance(metadata.annotations, dict) else {}
    prefix, name = "autoscaling.keda.sh/", metadata.name
    if (replicas := annotations.get(f"{prefix}paused-replicas")) is not None:
        number = str(replicas)[:_LONGEST_NAME]
        yield f"it is paused at {number} replicas: autoscaler override {name} --min {number} --max {number}"
    elif (paused := annotations.get(f"{prefix}paused")) is not None and str(paused).lower() != "false":
        yield f"it is paused: autoscaler pause {name}"
    for direction in ("scale-in", "scale-out"):
        if str(annotations.get(f"{prefix}paused-{direction}", "false")).lower() != "false":
            rules = "scaleDown" if direction == "scale-in" else "scaleUp"
            yield f"its {direction} is paused: behavior: {{{rules}: {{selectPolicy: Disabled}}}}"
