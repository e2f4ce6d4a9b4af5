"""`import` converts ScaledObjects of KEDA. test_coming_from.py has a test for each row of the documents' table."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from tests.cli.test_import import convert

QUERY: Final = 'sum(queue_messages{queue="mail"})'


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


def imported(file: Path, given: Any) -> tuple[dict[str, Any], str, int]:
    """Return the autoscaler, what standard error has, and the exit code."""
    file.write_text(yaml.safe_dump(given))
    code, out, err = convert(file, "--adapter", "swarm")
    (scaler,) = yaml.safe_load(out)["autoscalers"]
    return scaler, err, code


def first(scaler: Mapping[str, Any]) -> dict[str, Any]:
    """Return the body of its first metric."""
    body: dict[str, Any] = next(value for key, value in scaler["metrics"][0].items() if key != "type")
    return body


def test_a_scaled_object_that_scales_as_in_keda_is_imported_with_exit_code_0(file: Path) -> None:
    """Its bounds have KEDA's defaults."""
    scaler, err, code = imported(file, scaled_object())
    assert code == 0, err
    assert scaler["scaleTargetRef"] == {"adapter": "swarm", "name": "worker"}
    assert (scaler["minReplicas"], scaler["maxReplicas"]) == (0, 100)
    assert first(scaler)["target"] == {"type": "AverageValue", "averageValue": "20"}
    assert first(scaler)["query"] == {"expr": QUERY}
    assert "It will scale differently" not in err


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
"""Row of the table -> a ScaledObject, and what holds for the autoscaler. It scales as in KEDA."""

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
"""Row of the table -> a ScaledObject, and what standard error says."""


def test_a_cron_trigger_becomes_a_schedule(file: Path) -> None:
    """More than maxReplicaCount is impossible in KEDA, too. Without another trigger the schedule alone decides."""
    scaler, _, _ = imported(file, scaled_object(cron(), maxReplicaCount=8))
    assert scaler["schedules"] == [
        {"cron": "0 8 * * 1-5", "until": "0 18 * * 1-5", "timezone": "Europe/Berlin", "minReplicas": 8}
    ]
    assert first(scaler)["query"] == {"expr": "vector(0)"}


def test_fields_for_idle_objects_are_left_out_of_other_objects(file: Path) -> None:
    """With a minimum above 0 KEDA uses neither."""
    scaler, _, code = imported(file, scaled_object(prometheus(activationThreshold="5"), minReplicaCount=1))
    assert code == 0
    assert not {"cooldown", "idleReplicas"} & set(scaler)
    assert "activation" not in first(scaler)


def test_an_idle_count_that_keda_refuses_is_named(file: Path) -> None:
    _, err, _ = imported(file, scaled_object(idleReplicaCount=1, minReplicaCount=2))
    assert "idleReplicaCount 1 is left out; KEDA refuses it, too: only 0 is possible" in err


def test_servers_become_sources(file: Path) -> None:
    """The most common one is the default."""
    one, other = prometheus(serverAddress="http://one"), prometheus(serverAddress="http://other")
    scaler, err, _ = imported(file, scaled_object(one, other, other))
    sources = [metric["external"]["query"].get("prometheus") for metric in scaler["metrics"]]
    assert sources == ["prometheus-2", None, None]
    assert "it reads http://one: name that source prometheus-2 in `prometheus`" in err


@pytest.mark.parametrize(
    ("trigger", "message"),
    [
        (prometheus(threshold="0"), "spec.triggers[0]: metadata.threshold is 0; write a number above 0"),
        (prometheus(threshold="many"), "metadata.threshold is 'many'; write a number of at least 0"),
        (prometheus(query=" "), "metadata.query is missing; a trigger of type prometheus needs it"),
        (prometheus(metric_type="Utilization"), "metricType Utilization is for cpu and memory"),
        ({"type": "cpu", "metricType": "Value", "metadata": {"value": "1"}}, "metricType Value is not for cpu"),
        ({"type": "kafka", "metadata": {}}, "spec.triggers: has no trigger of type prometheus, cpu, memory or cron"),
        (cron(timezone=""), "metadata.timezone is missing"),
    ],
)
def test_a_trigger_that_keda_refuses_is_named(trigger: Any, message: str, file: Path) -> None:
    file.write_text(yaml.safe_dump(scaled_object(trigger)))
    code, out, err = convert(file, "--adapter", "swarm")
    assert (code, out) == (1, "")
    assert message in err
    assert "ScaledObject mail is not imported; correct the problems above" in err


def test_a_schedule_that_the_daemon_would_refuse_is_not_printed(file: Path) -> None:
    """robfig/cron has `?` and `@daily`."""
    file.write_text(yaml.safe_dump(scaled_object(prometheus(), cron(start="@daily"))))
    code, out, err = convert(file, "--adapter", "swarm")
    assert (code, out) == (1, "")
    assert "'@daily' is not a cron expression" in err


@pytest.mark.parametrize("text", ["false", "False", "0", "f"])
def test_an_unsafe_ssl_that_is_false_asks_for_nothing(file: Path, text: str) -> None:
    """It is KEDA's default. The advice was to skip the check of the certificate."""
    _, err, _ = imported(file, scaled_object(prometheus(unsafeSsl=text)))
    assert "unsafeSsl" not in err
    assert "insecureSkipVerify" not in err
