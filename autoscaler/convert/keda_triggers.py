"""Converts the triggers of a ScaledObject to metrics and schedules.

Source: keda.sh/docs, the scalers prometheus, cron, cpu and memory; for what KEDA does with failures and with several
series, KEDA's pkg/fallback and pkg/scalers.
"""

import math
from collections.abc import Iterator, Mapping
from typing import Any, Final

from autoscaler.convert.blocks import MetricBlock, Source, UsualQuery, usual_query
from autoscaler.convert.imported import MAX_NAME, Destination, Found, number_of, plain_cron
from autoscaler.convert.keda_exporters import EXPORTERS, Exported, exported
from autoscaler.convert.keda_fields import Spec, Trigger
from autoscaler.quantity import format_quantity

_HPA_PERIOD_SECONDS: Final = 15
"""How often the HPA that KEDA makes asks for its metrics."""
IMPORTED: Final = ("prometheus", "cpu", "memory", "cron")
"""Types of triggers that need no exporter."""
FALLBACKS: Final = ("static", "currentReplicasIfHigher")
"""What `fallback.behavior` may be to be imported."""
FALSE: Final = frozenset({"0", "f", "F", "FALSE", "false", "False"})
"""What Go reads as false."""
_OF_QUERY: Final = frozenset({"query", "threshold", "activationThreshold", "ignoreNullValues", "metricName"})
"""Keys of a prometheus trigger that say nothing of its source."""
_KEYS: Final[Mapping[str, frozenset[str]]] = {
    "cron": frozenset({"timezone", "start", "end", "desiredReplicas"}),
    "cpu": frozenset({"type", "value", "containerName"}),
    "memory": frozenset({"type", "value", "containerName"}),
}
"""Type of a trigger -> the keys of its metadata that are imported."""
_OF_SOURCE: Final = {
    "authModes": "basicAuth, bearerTokenFile, oauth2, sigv4 or tls",
    "customHeaders": "headers",
    "queryParameters": "params",
    "namespace": "params: {namespace: …}",
    "unsafeSsl": "tls: {insecureSkipVerify: true}",
    "timeout": "timeout",
}
"""A key of a prometheus trigger -> that of its source in `prometheus`."""


def convert_trigger(
    index: int, trigger: Trigger, spec: Spec, namespace: str, target: str, destination: Destination, found: Found
) -> None:
    """Add what a trigger becomes. Raises ValueError for one that KEDA would refuse."""
    what = f"triggers[{index}], {trigger.type[:MAX_NAME]}"
    found.differences += [f"{what}: {text}" for text in _unread(trigger)]
    match trigger.type:
        case "prometheus":
            found.metrics.append(_prometheus(index, trigger, spec, namespace))
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
        case _ if (usual := exported(trigger)) is not None:
            found.metrics.append(_exported(index, trigger, usual, spec))
            found.todo.append(f"{what}: check its query, which reads the metrics of {usual.exporter}")
        case kind:
            exporter = f", with {EXPORTERS[kind]}" if kind in EXPORTERS else ""
            found.differences.append(
                f"{what}: it is left out. Export its value to Prometheus{exporter}, and write an External metric for it"
            )


def _required(trigger: Trigger, key: str) -> str:
    text = trigger.metadata.get(key, "")
    if not text.strip():
        raise ValueError(f"metadata.{key} is missing; a trigger of type {trigger.type} needs it")
    return text


def _number(trigger: Trigger, key: str) -> int:
    """Return a number in thousandths, truncated as KEDA does."""
    return math.floor(number_of(f"metadata.{key}", _required(trigger, key)) * 1000)


def _unread(trigger: Trigger) -> Iterator[str]:
    """Yield the keys of a trigger that are not imported."""
    usual = exported(trigger)
    known = _KEYS.get(trigger.type, frozenset(trigger.metadata)) if usual is None else usual.keys
    if trigger.type == "prometheus":
        known = _OF_QUERY | {"serverAddress", *_OF_SOURCE}
    for key in sorted(set(trigger.metadata) - known):
        yield f"metadata.{key[:MAX_NAME]} is left out"


def _source(trigger: Trigger, namespace: str) -> Source:
    """Return the source of a prometheus trigger. A TriggerAuthentication belongs to a namespace."""
    options = dict(_options(trigger))
    reference = trigger.authentication_ref
    if isinstance(reference, dict):
        everywhere = reference.get("kind") == "ClusterTriggerAuthentication"
        options["authenticationRef"] = f"{reference.get('name')} in {'all' if everywhere else namespace}"
    return Source(_required(trigger, "serverAddress").strip().rstrip("/"), tuple(sorted(options.items())))


def _options(trigger: Trigger) -> Iterator[tuple[str, str]]:
    """Yield key and value of what the source is asked with. `unsafeSsl: "false"` is KEDA's default."""
    for key, text in trigger.metadata.items():
        if text and key not in _OF_QUERY and key != "serverAddress" and (key != "unsafeSsl" or text not in FALSE):
            yield key, ",".join(sorted(part.strip() for part in text.split(",")))


def _prometheus(index: int, trigger: Trigger, spec: Spec, namespace: str) -> MetricBlock:
    expr, server = _required(trigger, "query").strip(), _source(trigger, namespace)
    return _external(index, trigger, spec, expr, ("threshold", "activationThreshold"), server)


def _exported(index: int, trigger: Trigger, usual: Exported, spec: Spec) -> MetricBlock:
    if usual.default is not None:
        metadata = {usual.threshold: usual.default, **trigger.metadata}
        trigger = trigger.model_copy(update={"metadata": metadata})
    return _external(index, trigger, spec, usual.expr(trigger), (usual.threshold, usual.activation), None)


def _external(
    index: int, trigger: Trigger, spec: Spec, expr: str, keys: tuple[str, str], server: Source | None
) -> MetricBlock:
    """Return an External metric. `keys`: those of the threshold and of the activation. Raises ValueError."""
    if trigger.metric_type == "Utilization":
        raise ValueError("metricType Utilization is for cpu and memory; write AverageValue or Value")
    key, activation_key = keys
    kind, threshold, activation = trigger.metric_type or "AverageValue", _number(trigger, key), None
    if threshold == 0:
        raise ValueError(f"metadata.{key} is 0; write a number above 0")
    if spec.can_idle and trigger.metadata.get(activation_key):
        activation = format_quantity(_number(trigger, activation_key))
    name = trigger.name or trigger.metadata.get("metricName") or f"s{index}-{trigger.type}"
    return MetricBlock(
        "External",
        {"metric": {"name": name[:253]}},
        {"type": kind, kind[:1].lower() + kind[1:]: format_quantity(threshold)},
        UsualQuery(expr),
        "the samples are summed",
        _fallback(spec),
        activation,
        server,
    )


def _fallback(spec: Spec) -> Mapping[str, Any] | None:
    """Return the fallback of a metric.

    KEDA counts failures of its own polls and of the HPA's requests, and falls back after more than the threshold.
    """
    given = spec.fallback
    if given is None or given.behavior not in FALLBACKS or given.replicas == 0:
        return None
    a_second = 1 / max(spec.polling_interval, 1) + 1 / _HPA_PERIOD_SECONDS
    after = max(1, round((given.failure_threshold + 1) / a_second))
    static = {"allowScaleIn": True} if given.behavior == "static" else {}
    return {"failureDurationSeconds": after, "replicas": min(given.replicas, spec.max_replica_count), **static}


def _to_check(trigger: Trigger) -> Iterator[str]:
    yield "KEDA fails if the query returns several series; here they are summed"
    read = dict(_options(trigger))
    for key, here in _OF_SOURCE.items():
        if key in read:
            yield f"{key} belongs to the source: {here}"
    if trigger.authentication_ref is not None:
        yield "authenticationRef belongs to the source: basicAuth, bearerTokenFile, oauth2, sigv4 or tls"


def _without_data(trigger: Trigger) -> Iterator[str]:
    if trigger.metadata.get("ignoreNullValues") not in FALSE:
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
        raise ValueError(f"metricType {kind[:MAX_NAME]} is not for {trigger.type}; write Utilization or AverageValue")
    if container := trigger.metadata.get("containerName"):
        body = {"name": trigger.type, "container": container}
        hint = f"one sample for each instance, with {container} as its label task or container"
        return MetricBlock("ContainerResource", body, goal, UsualQuery(""), hint)
    return MetricBlock(
        "Resource", {"name": trigger.type}, goal, usual or UsualQuery(""), "one sample for each instance"
    )


def _schedule(trigger: Trigger, spec: Spec) -> Mapping[str, Any]:
    start, end = plain_cron(_required(trigger, "start")), plain_cron(_required(trigger, "end"))
    if start == end:
        raise ValueError(f"metadata.end is metadata.start, {start[:MAX_NAME]!r}, which KEDA refuses; give another end")
    wanted = _number(trigger, "desiredReplicas")
    if wanted == 0 or wanted % 1000:
        text = trigger.metadata["desiredReplicas"][:MAX_NAME]
        raise ValueError(f"metadata.desiredReplicas is {text!r}, which KEDA refuses; write a whole number above 0")
    return {
        "cron": start,
        "until": end,
        "timezone": _required(trigger, "timezone").strip(),
        "minReplicas": min(wanted // 1000, spec.max_replica_count),
    }
