"""An autoscaler with `idleReplicas`."""

import dataclasses
from collections.abc import Mapping, Sequence
from datetime import timedelta

from autoscaler.model import (
    Autoscaler,
    Behavior,
    ConfiguredRule,
    Failure,
    MetricSpec,
    MetricType,
    Rules,
    TargetType,
)
from autoscaler.rules.idle import Idle
from tests.decide.build import QUEUE_15, metric, scaler, value

COOLDOWN = timedelta(seconds=60)
QUEUE = QUEUE_15
MAILS = metric(MetricType.OBJECT, TargetType.VALUE, 10_000, "mails")

ACTIVATIONS = {"queue": 5_000, "mails": 0}
"""By the metric's name."""
BUSY, QUIET, FAILED = value(30_000), value(5_000), Failure("connection refused")
"""QUIET is the activation of the queue itself, which is not above it."""


def idle_scaler(
    *metrics: MetricSpec,
    minimum: int = 3,
    behavior: Behavior | None = None,
    activations: Mapping[str, int] = ACTIVATIONS,
    rules: Sequence[ConfiguredRule] = (),
) -> Autoscaler:
    """Return an autoscaler that can idle, with these other `rules`."""
    metrics = metrics or (QUEUE,)
    idle = Idle(COOLDOWN, tuple([activations.get(each.name) for each in metrics]))
    return dataclasses.replace(scaler(*metrics, minimum=minimum, behavior=behavior), rules=Rules([idle, *rules]))
