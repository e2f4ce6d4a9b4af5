"""Conditions of a decision, and the values they are tested with."""

from autoscaler.model import (
    Behavior,
    ConditionType,
    Decision,
    HoldReason,
)
from tests.decide.build import QUEUE_15, Life, scaler, value

UP = scaler(QUEUE_15, behavior=Behavior())
DEPLOYING = HoldReason("DeploymentActive", "a deployment is under way")


def condition(decision: Decision, kind: ConditionType) -> tuple[bool, str]:
    return next((known.status, known.reason) for known in decision.conditions if known.type is kind)


def own_zero(*, minimum: int, behavior: Behavior | None = None) -> Life:
    """A target that the autoscaler scaled to zero with minReplicas 0, which then became `minimum`."""
    life = Life(scaler(QUEUE_15, minimum=0, behavior=behavior or Behavior()), 1)
    life.step(value(0))
    life.step(value(0), after=600)
    assert life.size == 0
    life.edit(min_replicas=minimum)
    return life
