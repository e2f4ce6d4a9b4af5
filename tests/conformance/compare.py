"""Runs scenarios through HPA alone, or the whole decision, and compares every step with the real answer."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, NamedTuple

from autoscaler import decide as whole
from autoscaler.errors import TargetRefused
from autoscaler.hpa import outcome
from autoscaler.model import (
    Autoscaler,
    ConditionType,
    Decision,
    History,
    ManualControls,
    MetricOutcome,
    Observation,
    Outcome,
    Reason,
    Rules,
    Written,
)
from tests.conformance import alone
from tests.conformance.scenario import Scenario
from tests.replaced import replace

_CONDITIONS: Final = frozenset(map(str, ConditionType))
_REASONS: Final = frozenset(map(str, Reason))


class Pipeline(NamedTuple):
    """What decides, and with what beside HPA's own specification."""

    decide: Callable[[Autoscaler, Observation, History, datetime], Decision] = whole.decide
    apply_outcome: Callable[[Decision, Outcome | None], Decision] = whole.apply_outcome
    rules: Callable[[Autoscaler], Rules] | None = None
    """None: none is configured."""
    manual: ManualControls = ManualControls()


WHOLE: Final = Pipeline()
HPA_ALONE: Final = Pipeline(alone.decide, outcome.apply_outcome)


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


def play(scenario: Scenario, pipeline: Pipeline = WHOLE) -> list[Decision]:
    """The concluded decision of every step; history and the target's size carry over."""
    history = History(manual=pipeline.manual)
    replicas = status_replicas = 0
    decisions = []
    for step in scenario.steps:
        if step.scale is not None:
            replicas, status_replicas = step.scale
        scaler = step.scaler if pipeline.rules is None else replace(step.scaler, rules=pipeline.rules(step.scaler))
        decision = pipeline.decide(scaler, step.observation(replicas, status_replicas), history, step.now)
        change = decision.change
        if change is not None:
            if step.update_scale_error is None:
                decision = pipeline.apply_outcome(decision, Written(change.size))
                replicas = status_replicas = change.size
            else:
                decision = pipeline.apply_outcome(decision, TargetRefused(step.update_scale_error))
        history = whole.remember(scaler, history, decision)
        decisions.append(decision)
    return decisions


def differences(scenario: Scenario, pipeline: Pipeline = WHOLE) -> Iterator[Difference]:
    """Every field of every step that differs from the real controller's answer."""
    return compare(scenario, play(scenario, pipeline))


def compare(scenario: Scenario, decisions: list[Decision]) -> Iterator[Difference]:
    """Every field of every step in which these decisions differ from the real controller's answer."""
    for index, (step, decision) in enumerate(zip(scenario.steps, decisions, strict=True)):
        found = answer(decision)
        for name, expected in _expected(step.expect).items():
            if found[name] != expected:
                yield Difference(scenario.id, index, name, expected, found[name])


def answer(decision: Decision) -> dict[str, object]:
    """HPA's part of a decision, in the words of a scenario's `expect`."""
    return {
        "scaleTo": decision.written,
        "currentReplicas": decision.remembered.status.current,
        "desiredReplicas": decision.remembered.status.desired,
        "conditions": {
            str(condition.type): (str(condition.status), condition.reason)
            for condition in decision.conditions
            if condition.type in _CONDITIONS
        },
        "events": [event.reason for event in decision.events if event.reason in _REASONS],
        "currentMetrics": [_metric(metric) for metric in decision.remembered.status.metrics],
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
