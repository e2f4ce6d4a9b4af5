"""ScaledObjects of KEDA, and what `import` makes of them."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import yaml

from tests.cli.importing import convert

QUERY: Final = 'sum(queue_messages{queue="mail"})'


def imported(file: Path, given: Any) -> tuple[dict[str, Any], str, int]:
    """Return the autoscaler, what standard error has, and the exit code."""
    file.write_text(yaml.safe_dump(given))
    code, out, err = convert(file, "--adapter", "swarm")
    (scaler,) = yaml.safe_load(out)["autoscalers"]
    return scaler, err, code


def prometheus(*, metric_type: str | None = None, **metadata: str) -> dict[str, Any]:
    """Return a trigger whose import scales as KEDA does."""
    given = {"serverAddress": "http://prom:9090", "query": QUERY, "threshold": "20", "ignoreNullValues": "false"}
    kind = {} if metric_type is None else {"metricType": metric_type}
    return {"type": "prometheus", "metadata": given | metadata, **kind}


def cron(**metadata: str) -> dict[str, Any]:
    given = {"timezone": "Europe/Berlin", "start": "0 8 * * 1-5", "end": "0 18 * * 1-5", "desiredReplicas": "10"}
    return {"type": "cron", "metadata": given | metadata}


def scaled_object(*triggers: Any, annotations: Mapping[str, str] | None = None, **spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": "keda.sh/v1alpha1",
        "kind": "ScaledObject",
        "metadata": {"name": "mail", "annotations": dict(annotations or {})},
        "spec": {"scaleTargetRef": {"name": "worker"}, "triggers": list(triggers or [prometheus()]), **spec},
    }


def first(scaler: Mapping[str, Any]) -> dict[str, Any]:
    """Return the body of its first metric."""
    body: dict[str, Any] = next(value for key, value in scaler["metrics"][0].items() if key != "type")
    return body


BEHAVIOR: Final = {"scaleDown": {"policies": [{"type": "Pods", "value": 1, "periodSeconds": 60}]}}
SAME: Final[Mapping[str, tuple[dict[str, Any], Any]]] = {
    "`minReplicaCount` (0), `maxReplicaCount` (100)": (
        scaled_object(minReplicaCount=2, maxReplicaCount=9),
        lambda scaler: (scaler["minReplicas"], scaler["maxReplicas"]) == (2, 9),
    ),
    "`pollingInterval` (30 s)": (scaled_object(pollingInterval=5), lambda scaler: "syncPeriod" not in scaler),
    "`initialCooldownPeriod`": (scaled_object(initialCooldownPeriod=60), lambda scaler: scaler["cooldown"] == "300s"),
    "`cooldownPeriod` (300 s)": (scaled_object(cooldownPeriod=60), lambda scaler: scaler["cooldown"] == "60s"),
    "`idleReplicaCount: 0`": (
        scaled_object(idleReplicaCount=0, minReplicaCount=4),
        lambda scaler: (scaler["idleReplicas"], scaler["minReplicas"], scaler["cooldown"]) == (0, 4, "300s"),
    ),
    "`advanced.horizontalPodAutoscalerConfig.behavior`": (
        scaled_object(advanced={"horizontalPodAutoscalerConfig": {"behavior": BEHAVIOR}}),
        lambda scaler: scaler["behavior"] == BEHAVIOR,
    ),
    "its `query`; `threshold`": (
        scaled_object(prometheus(threshold="0.5")),
        lambda scaler: first(scaler)["target"]["averageValue"] == "500m",
    ),
    "`metricType: Value`": (
        scaled_object(prometheus(metric_type="Value")),
        lambda scaler: first(scaler)["target"] == {"type": "Value", "value": "20"},
    ),
    "`activationThreshold`": (
        scaled_object(prometheus(activationThreshold="5.5")),
        lambda scaler: first(scaler)["activation"] == "5500m",
    ),
    "triggers `cpu`, `memory`": (
        scaled_object(
            {"type": "cpu", "metricType": "Utilization", "metadata": {"value": "60"}},
            {"type": "memory", "metricType": "AverageValue", "metadata": {"value": "1Gi"}},
        ),
        lambda scaler: (
            first(scaler)["target"] == {"type": "Utilization", "averageUtilization": 60} and scaler["minReplicas"] == 1
        ),
    ),
    "several triggers": (
        scaled_object(prometheus(), {"type": "cpu", "metadata": {"value": "60"}}),
        lambda scaler: [metric["type"] for metric in scaler["metrics"]] == ["External", "Resource"],
    ),
    "`fallback`: `failureThreshold`, `replicas`": (
        scaled_object(fallback={"failureThreshold": 3, "replicas": 6, "behavior": "currentReplicasIfHigher"}),
        lambda scaler: first(scaler)["fallback"] == {"failureDurationSeconds": 40, "replicas": 6},
    ),
    "`fallback.behavior: static`": (
        scaled_object(fallback={"failureThreshold": 3, "replicas": 6}),
        lambda scaler: first(scaler)["fallback"]["allowScaleIn"] is True,
    ),
}
"""Setting, as a row of the table -> a ScaledObject, and what holds for the autoscaler. It scales as in KEDA."""

SAID: Final = {
    "trigger [`prometheus`](https://keda.sh/docs/latest/scalers/prometheus/): `serverAddress`": (
        scaled_object(),
        "it reads http://prom:9090: name that source default in `prometheus`",
    ),
    "`customHeaders`, `queryParameters`, `unsafeSsl`, `authModes`, TriggerAuthentication": (
        scaled_object(prometheus(authModes="bearer")),
        "authModes belongs to the source: basicAuth, bearerTokenFile, oauth2, sigv4 or tls",
    ),
    "several series of a query": (scaled_object(), "KEDA fails if the query returns several series"),
    '`ignoreNullValues: "true"` (its default)': (
        scaled_object(prometheus(ignoreNullValues="true")),
        'write: QUERY or 0 * max(up{job="JOB"} == 1)',
    ),
    "trigger `cron`: `start`, `end`, `timezone`, `desiredReplicas`": (
        scaled_object(prometheus(), cron()),
        "triggers[1], cron: it is a schedule",
    ),
    "triggers `rabbitmq` (`QueueLength`), `kafka`, `aws-sqs-queue`, `redis`": (
        scaled_object({"type": "redis", "metadata": {"listName": "jobs"}}),
        "triggers[0], redis: check its query, which reads the metrics of redis_exporter",
    ),
    "`scalingModifiers.formula`": (
        scaled_object(advanced={"scalingModifiers": {"formula": "a + b"}}),
        "advanced.scalingModifiers is left out",
    ),
    "annotation `autoscaling.keda.sh/force-activation`": (
        scaled_object(annotations={"autoscaling.keda.sh/force-activation": "true"}),
        "annotation force-activation is left out",
    ),
    "`fallback.behavior: scalingModifiers`": (
        scaled_object(fallback={"failureThreshold": 3, "replicas": 6, "behavior": "scalingModifiers"}),
        "fallback scalingModifiers is left out",
    ),
    "annotation `autoscaling.keda.sh/paused`": (
        scaled_object(annotations={"autoscaling.keda.sh/paused": "true"}),
        "it is paused: autoscaler pause mail",
    ),
    'annotation `autoscaling.keda.sh/paused-replicas: "4"`': (
        scaled_object(annotations={"autoscaling.keda.sh/paused-replicas": "4"}),
        "autoscaler override mail --min 4 --max 4",
    ),
    "other [scalers](https://keda.sh/docs/latest/scalers/)": (
        scaled_object(prometheus(), {"type": "rabbitmq", "metadata": {}}),
        "triggers[1], rabbitmq: it is left out. Export its value to Prometheus",
    ),
}
"""Setting, as a row of the table -> a ScaledObject, and what standard error says."""
