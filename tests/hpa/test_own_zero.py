"""The autoscaler's own zero below a raised minReplicas, which waits for the metrics."""

from datetime import timedelta

import pytest

from autoscaler.model import (
    Behavior,
    ConditionType,
    Failure,
    PolicyType,
    Reason,
    ScalingPolicy,
    ScalingRules,
    SelectPolicy,
)
from tests.decide.build import value
from tests.hpa.build import condition, own_zero

FAILED = Failure("connection refused")
ONE_A_MINUTE = ScalingRules(
    timedelta(0), SelectPolicy.MAX, (ScalingPolicy(PolicyType.PODS, 1, timedelta(minutes=1)),), None
)


@pytest.mark.parametrize("behavior", [Behavior(), None])
@pytest.mark.parametrize(("load", "size"), [(0, 2), (15_000, 2), (45_000, 3)])
def test_a_raised_minimum_lifts_what_the_metrics_propose(load: int, size: int, behavior: Behavior | None) -> None:
    life = own_zero(minimum=2)
    life.edit(behavior=behavior)
    made = life.step(value(load), after=600)
    assert life.size == size
    assert made.metrics
    assert condition(made, ConditionType.SCALED_TO_ZERO)[0] is False
    assert made.change is not None
    assert made.change.reason == (
        "the size is below minReplicas" if size == 2 else "external metric queue above target"
    )


def test_policies_apply_before_the_lift() -> None:
    """As in Kubernetes: the condition names the policy, and the size is the minimum."""
    life = own_zero(minimum=3, behavior=Behavior(scale_up=ONE_A_MINUTE))
    made = life.step(value(600_000), after=120)
    assert life.size == 3
    assert condition(made, ConditionType.SCALING_LIMITED) == (True, "ScaleUpLimit")
    steps = [(step.reason, step.before, step.after) for step in made.trace]
    assert (Reason.TOO_FEW_REPLICAS, 1, 3) in steps


def test_while_all_metrics_fail_an_own_zero_stays_below_a_raised_minimum() -> None:
    life = own_zero(minimum=2)
    made = life.step(FAILED, after=15)
    assert (made.change, made.desired, life.size) == (None, None, 0)
    assert condition(made, ConditionType.SCALING_ACTIVE) == (False, "FailedGetExternalMetric")
    assert condition(made, ConditionType.SCALED_TO_ZERO)[0] is True
    life.step(value(0), after=15)
    assert life.size == 2


def test_a_maximum_of_0_keeps_an_own_zero_without_reading_metrics() -> None:
    """Nothing is wrong: a bound of 0 is how a rule switches a target off for a time."""
    life = own_zero(minimum=0)
    life.edit(max_replicas=0)
    made = life.step(FAILED, after=15)
    assert (made.change, made.desired, made.metrics, made.error) == (None, 0, (), None)
    assert condition(made, ConditionType.SCALING_LIMITED) == (True, "TooManyReplicas")
    assert [(step.reason, step.before, step.after) for step in made.trace] == [(Reason.TOO_MANY_REPLICAS, 0, 0)]
