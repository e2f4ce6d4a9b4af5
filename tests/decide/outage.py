"""An outage of a metric's source, on a virtual clock."""

from datetime import timedelta
from typing import Any, NamedTuple

from autoscaler.decide import decide, remember
from autoscaler.model import (
    Autoscaler,
    Behavior,
    Condition,
    Decision,
    Failure,
    History,
    MetricSpec,
    Observation,
    PolicyType,
    Reading,
    Rules,
    ScalingPolicy,
    ScalingRules,
    SelectPolicy,
)
from autoscaler.rules.fallback import Fallbacks
from autoscaler.rules.fallback.keys import MetricFallback
from tests.decide.build import NOW, QUEUE_15, Life, scaler, state, value
from tests.replaced import replace

DOWN = Failure("connection refused")
CALM = Behavior(
    scale_down=ScalingRules(
        timedelta(0), SelectPolicy.MAX, (ScalingPolicy(PolicyType.PERCENT, 100, timedelta(seconds=15)),)
    )
)
"""Scales in at once, so that a test sees what the metrics alone ask for."""


class WithFallback(NamedTuple):
    """A metric and its fallback."""

    metric: MetricSpec
    fallback: MetricFallback


def with_fallback(spec: MetricSpec = QUEUE_15, seconds: int = 180, **keys: object) -> WithFallback:
    """Return the metric with a fallback of 10 replicas, or of `keys`."""
    given = keys or {"replicas": 10}
    return WithFallback(spec, MetricFallback(timedelta(seconds=seconds), **given))  # type: ignore[arg-type]  # by name


def covered(*specs: MetricSpec | WithFallback, **options: Any) -> Autoscaler:
    """Return an autoscaler of these metrics, some of them with a fallback. `options`: as of `scaler`."""
    pairs = [each if isinstance(each, WithFallback) else (each, None) for each in specs]
    fallbacks = Fallbacks(tuple([fallback for _, fallback in pairs]))
    return replace(scaler(*[metric for metric, _ in pairs], **options), rules=Rules([fallbacks]))


class Outage(Life):
    """Runs cycles of 60 s and starts with a size of 3."""

    def __init__(self, autoscaler: Autoscaler, size: int = 3, history: History | None = None) -> None:
        super().__init__(autoscaler, size, history=history)

    def cycle(self, *readings: Reading | Failure, after: float = 60, **given: Any) -> Decision:
        """Run one cycle."""
        return self.step(*readings, after=after, **given)

    def until_fallback(self, *readings: Reading | Failure, **given: Any) -> Decision:
        """Run to the first cycle in which 180 s without a value have passed."""
        for _ in range(3):
            assert not condition(self.cycle(*readings, **given)).status
        return self.cycle(*readings, **given)


def condition(decision: Decision, kind: str = Fallbacks.condition) -> Condition:
    return next(known for known in decision.conditions if known.type == kind)


def event_reasons(decision: Decision) -> list[str]:
    return [event.reason for event in decision.events]


def remembered(autoscaler: Autoscaler, size: int, failing_for: float = 180) -> History:
    """Return the history of an autoscaler whose first metric has failed for `failing_for` seconds."""
    before = NOW - timedelta(seconds=failing_for)
    others = [value(0)] * (len(autoscaler.metrics) - 1)
    observed = Observation(state(size), (DOWN, *others))
    made = decide(replace(autoscaler, behavior=None), observed, History(), before)
    history = remember(autoscaler, History(), made)
    return replace(history, hpa=replace(history.hpa, recommendations=()))
