"""Triggers of KEDA that read a service themselves: the metrics of the exporter that publishes the same value.

Sources: keda.sh/docs, the scalers rabbitmq, apache-kafka, aws-sqs and redis-lists, for the keys of `metadata` and their
defaults; rabbitmq.com/docs/prometheus; the READMEs of danielqsj/kafka_exporter, oliver006/redis_exporter and
prometheus/cloudwatch_exporter, for the names of metrics and labels.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from autoscaler.convert.keda_fields import Trigger
from autoscaler.fields.kept_labels import quoted


@dataclass(frozen=True, slots=True)
class Exported:
    """How the value of a type of trigger is published."""

    exporter: str
    metrics: tuple[str, ...]
    """They are added up."""
    labels: Mapping[str, str]
    """Label -> the key of `metadata` with its value. An omitted one is no matcher."""
    required: str
    """The key that has a value; KEDA can also read it from the environment of a container, which is not imported."""
    threshold: str
    """The key of the value for each instance."""
    default: str | None
    """The threshold when the key is omitted; None: it is required."""
    activation: str
    """The key of the value above which the trigger is active."""
    only: tuple[tuple[str, str], ...] = ()
    """Keys and their values, with another of which the trigger reads something else."""

    @property
    def keys(self) -> frozenset[str]:
        """Return the keys of `metadata` that are imported."""
        return frozenset({*self.labels.values(), self.threshold, self.activation, *dict(self.only)})

    def expr(self, trigger: Trigger) -> str:
        """Return the PromQL."""
        given = {label: _value(trigger, key) for label, key in self.labels.items()}
        selector = ",".join(f"{label}={quoted(value)}" for label, value in given.items() if value)
        return " + ".join(f"sum({metric}{{{selector}}})" for metric in self.metrics)


def exported(trigger: Trigger) -> Exported | None:
    """Return how a trigger's value is published; None: it is not known."""
    found, given = EXPORTED.get(trigger.type), trigger.metadata
    if found is None or not given.get(found.required, "").strip():
        return None
    if found.default is None and found.threshold not in given:
        return None
    return found if all(given.get(key, value) == value for key, value in found.only) else None


def _value(trigger: Trigger, key: str) -> str:
    """Return a label's value. A queue's URL ends with its name, and redis_exporter calls database 0 `db0`."""
    text = trigger.metadata.get(key, "").strip()
    if key == "databaseIndex":
        return f"db{text or 0}"
    return text.rpartition("/")[2] if key == "queueURL" else text


_KAFKA: Final = Exported(
    "kafka_exporter",
    ("kafka_consumergroup_lag",),
    {"consumergroup": "consumerGroup", "topic": "topic"},
    "consumerGroup",
    "lagThreshold",
    "10",
    "activationLagThreshold",
)
_SQS: Final = "aws_sqs_approximate_number_of_messages"
EXPORTED: Final[Mapping[str, Exported]] = {
    "apache-kafka": _KAFKA,
    "aws-sqs-queue": Exported(
        "cloudwatch_exporter",
        (f"{_SQS}_visible_average", f"{_SQS}_not_visible_average"),
        {"queue_name": "queueURL"},
        "queueURL",
        "queueLength",
        "5",
        "activationQueueLength",
    ),
    "kafka": _KAFKA,
    "rabbitmq": Exported(
        "RabbitMQ's plugin rabbitmq_prometheus, with the metrics of each queue",
        ("rabbitmq_queue_messages",),
        {"queue": "queueName", "vhost": "vhostName"},
        "queueName",
        "value",
        None,
        "activationValue",
        (("mode", "QueueLength"),),
    ),
    "redis": Exported(
        "redis_exporter, with --check-single-keys",
        ("redis_key_size",),
        {"key": "listName", "db": "databaseIndex"},
        "listName",
        "listLength",
        "5",
        "activationListLength",
    ),
}
EXPORTERS: Final[Mapping[str, str]] = {
    "activemq": "jmx_exporter",
    "aws-cloudwatch": "cloudwatch_exporter",
    "aws-kinesis-stream": "cloudwatch_exporter",
    "gcp-pubsub": "stackdriver_exporter",
    "mongodb": "mongodb_exporter",
    "mssql": "sql_exporter",
    "mysql": "mysqld_exporter or sql_exporter",
    "nats-jetstream": "prometheus-nats-exporter",
    "postgresql": "postgres_exporter or sql_exporter",
    "rabbitmq": "RabbitMQ's plugin rabbitmq_prometheus",
    "redis-streams": "redis_exporter",
}
"""Type of a trigger -> the usual exporter of such a service."""
