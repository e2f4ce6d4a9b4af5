"""`import` converts ScaledObjects of KEDA. test_coming_from.py has a test for each row of the documents' table."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.cli.importing import convert
from tests.cli.keda import QUERY, cron, first, imported, prometheus, scaled_object


def test_a_scaled_object_that_scales_as_in_keda_is_imported_with_exit_code_0(file: Path) -> None:
    """Its bounds have KEDA's defaults."""
    scaler, err, code = imported(file, scaled_object())
    assert code == 0, err
    assert scaler["scaleTargetRef"] == {"adapter": "swarm", "name": "worker"}
    assert (scaler["minReplicas"], scaler["maxReplicas"]) == (0, 100)
    assert first(scaler)["target"] == {"type": "AverageValue", "averageValue": "20"}
    assert first(scaler)["query"] == {"expr": QUERY}
    assert "It will scale differently" not in err


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
        ({"type": "kafka", "metadata": {}}, "spec.triggers: has no trigger that can be imported; prometheus, cpu, "),
        ({"type": "rabbitmq", "metadata": {"queueName": "mail", "value": "0"}}, "metadata.value is 0; write a number"),
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


@pytest.mark.parametrize(
    ("kind", "metadata", "expr", "target"),
    [
        (
            "rabbitmq",
            {"queueName": "mail", "vhostName": "/", "mode": "QueueLength", "value": "20"},
            'sum(rabbitmq_queue_messages{queue="mail",vhost="/"})',
            "20",
        ),
        (
            "kafka",
            {"consumerGroup": "billing", "topic": 'or"ders'},
            'sum(kafka_consumergroup_lag{consumergroup="billing",topic="or\\"ders"})',
            "10",
        ),
        (
            "aws-sqs-queue",
            {"queueURL": "https://sqs.eu-west-1.amazonaws.com/123456789012/mail", "queueLength": "7"},
            " + ".join(
                f'sum(aws_sqs_approximate_number_of_messages_{each}_average{{queue_name="mail"}})'
                for each in ("visible", "not_visible")
            ),
            "7",
        ),
        ("redis", {"listName": "jobs"}, 'sum(redis_key_size{key="jobs",db="db0"})', "5"),
    ],
)
def test_a_trigger_of_a_service_reads_the_metric_of_its_exporter(
    kind: str, metadata: Any, expr: str, target: str, file: Path
) -> None:
    """The values that KEDA takes for omitted keys apply."""
    scaler, err, code = imported(file, scaled_object({"type": kind, "metadata": {**metadata, "host": "amqp://x"}}))
    assert code == 0
    assert first(scaler)["query"] == {"expr": expr}
    assert first(scaler)["target"] == {"type": "AverageValue", "averageValue": target}
    assert f"triggers[0], {kind}: check its query, which reads the metrics of " in err
    assert f"triggers[0], {kind}: metadata.host is left out" in err


def test_the_activation_and_the_fallback_of_a_service_are_kept(file: Path) -> None:
    metadata = {"listName": "jobs", "activationListLength": "3"}
    trigger = {"type": "redis", "metadata": metadata}
    scaler, err, _ = imported(file, scaled_object(trigger, fallback={"failureThreshold": 3, "replicas": 6}))
    assert first(scaler)["activation"] == "3"
    assert first(scaler)["fallback"]["replicas"] == 6
    assert "fallback is left out" not in err


@pytest.mark.parametrize(
    ("kind", "metadata", "exporter"),
    [
        ("rabbitmq", {"queueName": "mail", "mode": "MessageRate", "value": "20"}, "RabbitMQ's plugin"),
        ("rabbitmq", {"queueNameFromEnv": "QUEUE", "value": "20"}, "RabbitMQ's plugin"),
        ("postgresql", {"query": "SELECT 1"}, "postgres_exporter"),
    ],
)
def test_the_exporter_of_what_is_left_out_is_named(kind: str, metadata: Any, exporter: str, file: Path) -> None:
    _, err, code = imported(file, scaled_object(prometheus(), {"type": kind, "metadata": metadata}))
    assert code == 0
    assert f"triggers[1], {kind}: it is left out. Export its value to Prometheus, with {exporter}" in err
