"""Runs scenarios through the public functions of `decide/` and compares every step with the real answer."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from autoscaler.decide import apply_outcome, decide, remember
from autoscaler.errors import TargetRefused
from autoscaler.model import Decision, History, MetricOutcome, Written
from tests.conformance.scenario import Scenario


@dataclass(frozen=True, slots=True)
class Difference:
    """One field of one step in which the two disagree."""

    scenario: str
    step: int
    field: str
    expected: object
    found: object

    def __str__(self) -> str:
        return f"{self.scenario} step {self.step} {self.field}: expected {self.expected}, found {self.found}"


def play(scenario: Scenario) -> list[Decision]:
    """The concluded decision of every step; history and the target's size carry over."""
    history = History()
    replicas = status_replicas = 0
    decisions = []
    for step in scenario.steps:
        if step.scale is not None:
            replicas, status_replicas = step.scale
        decision = decide(step.scaler, step.observation(replicas, status_replicas), history, step.now)
        change = decision.change
        if change is not None:
            if step.update_scale_error is None:
                decision = apply_outcome(decision, Written(change.size))
                replicas = status_replicas = change.size
            else:
                decision = apply_outcome(decision, TargetRefused(step.update_scale_error))
        history = remember(step.scaler, history, decision)
        decisions.append(decision)
    return decisions


def differences(scenario: Scenario) -> Iterator[Difference]:
    """Every field of every step that differs from the real controller's answer."""
    for index, (step, decision) in enumerate(zip(scenario.steps, play(scenario), strict=True)):
        found = answer(decision)
        for name, expected in _expected(step.expect).items():
            if found[name] != expected:
                yield Difference(scenario.id, index, name, expected, found[name])


def answer(decision: Decision) -> dict[str, object]:
    """A decision in the words of a scenario's `expect`."""
    return {
        "scaleTo": decision.written,
        "currentReplicas": decision.status.current,
        "desiredReplicas": decision.status.desired,
        "conditions": {
            str(condition.type): (str(condition.status), condition.reason) for condition in decision.conditions
        },
        "events": [event.reason for event in decision.events],
        "currentMetrics": [_metric(metric) for metric in decision.status.metrics],
        "error": decision.error is not None,
    }


def _expected(expect: Mapping[str, Any]) -> dict[str, object]:
    return {
        **expect,
        "conditions": {
            condition["type"]: (condition["status"], condition["reason"]) for condition in expect["conditions"]
        },
        "events": [event["reason"] for event in expect["events"]],
    }


def _metric(metric: MetricOutcome) -> dict[str, object]:
    if metric.failed:
        return {"name": ""}
    values = {
        "value": metric.value,
        "averageValue": metric.average_value,
        "averageUtilization": metric.average_utilization,
    }
    return {"name": metric.name, **{key: value for key, value in values.items() if value is not None}}
