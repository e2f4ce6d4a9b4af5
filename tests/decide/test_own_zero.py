"""The autoscaler's own zero below a raised minimum: minReplicas waits for the metrics, every other minimum does not."""

from datetime import timedelta

import pytest

from autoscaler.errors import TargetUnavailable
from autoscaler.model import (
    Behavior,
    ConditionType,
    Decision,
    Failure,
    Limits,
    ManualControls,
    MetricType,
    Override,
    PolicyType,
    Reason,
    ScalingPolicy,
    ScalingRules,
    ScheduleEntry,
    SelectPolicy,
    TargetType,
)
from tests.decide.build import NOW, QUEUE_15, Life, metric, scaler, state, value
from tests.replaced import replace

FAILED = Failure("connection refused")
INFLIGHT = metric(MetricType.PODS, TargetType.AVERAGE_VALUE, 10_000, "inflight")
DAY = timedelta(days=1)
OVERRIDE = Override(None, None, "ann", "", NOW, None)
ONE_A_MINUTE = ScalingRules(
    timedelta(0), SelectPolicy.MAX, (ScalingPolicy(PolicyType.PODS, 1, timedelta(minutes=1)),), None
)


def own_zero(*, minimum: int, behavior: Behavior | None = None) -> Life:
    """A target that the autoscaler scaled to zero with minReplicas 0, which then became `minimum`."""
    life = Life(scaler(QUEUE_15, minimum=0, behavior=behavior or Behavior()), 1)
    life.step(value(0))
    life.step(value(0), after=600)
    assert life.size == 0
    life.edit(min_replicas=minimum)
    return life


def condition(decision: Decision, kind: ConditionType) -> tuple[bool, str]:
    """Status and reason."""
    return next((each.status, each.reason) for each in decision.conditions if each.type is kind)


def entry(minimum: int | None = None, *, after: timedelta = timedelta(0)) -> ScheduleEntry:
    """An entry that is open for a day, and opens `after` now."""
    opens = (NOW + after).replace(tzinfo=None)
    return ScheduleEntry("office", "UTC", start=opens, end=opens + DAY, min_replicas=minimum)


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


@pytest.mark.parametrize(
    ("changes", "override", "limits", "size"),
    [
        ({"min_replicas": 0, "schedules": (entry(4),)}, None, Limits(), 4),
        ({"schedules": (entry(4),)}, None, Limits(), 4),
        ({"schedules": (entry(4, after=DAY),)}, None, Limits(), 2),  # minReplicas is what the schedules return to
        ({}, replace(OVERRIDE, minimum=5), Limits(), 5),
        ({}, None, Limits(1, None, "the group"), 2),
        ({}, None, Limits(3, None, "the group"), 3),
        ({"cooldown": timedelta(minutes=1)}, replace(OVERRIDE, minimum=1), Limits(), 1),
        ({"metrics": (INFLIGHT,)}, None, Limits(), 2),  # it has no value at 0, so the zero would never end
    ],
)
def test_every_other_minimum_ends_an_own_zero_at_once_while_all_metrics_fail(
    changes: dict[str, object], override: Override | None, limits: Limits, size: int
) -> None:
    """A fleet must be there at 08:00."""
    life = own_zero(minimum=2)
    life.edit(**changes)
    life.history = replace(life.history, steering=ManualControls(override=override))
    life.step(FAILED, after=15, target=replace(state(0), limits=limits))
    assert life.size == size


def test_the_minimum_of_an_active_target_ends_an_own_zero_at_once_while_all_metrics_fail() -> None:
    """A metric that was active counts as active while it has no value."""
    queue = replace(QUEUE_15, activation=5_000)
    life = Life(replace(scaler(queue, minimum=3), cooldown=timedelta(minutes=1)), 4)
    life.step(value(0))
    life.step(value(0), after=60)
    assert life.size == 0
    life.step(value(30_000), after=15, outcome=TargetUnavailable("down"))
    life.step(FAILED, after=15)
    assert life.size == 3
