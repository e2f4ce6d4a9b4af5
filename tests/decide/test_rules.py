"""Stabilization and policies over time, on a virtual clock."""

from datetime import timedelta
from itertools import pairwise

from autoscaler.model import (
    DEFAULT_SCALE_DOWN,
    DEFAULT_SCALE_UP,
    Behavior,
    MetricType,
    PolicyType,
    ScalingPolicy,
    ScalingRules,
    SelectPolicy,
    TargetType,
)
from tests.decide.build import QUEUE_15, Life, metric, samples, scaler, value


def rules(window: float, *policies: tuple[PolicyType, int, float]) -> ScalingRules:
    return ScalingRules(
        timedelta(seconds=window),
        SelectPolicy.MAX,
        tuple(ScalingPolicy(kind, number, timedelta(seconds=period)) for kind, number, period in policies),
    )


PER_ONE = metric(MetricType.PODS, TargetType.AVERAGE_VALUE, 1000, "load")


def test_80_falling_to_10_leaves_by_the_larger_of_4_pods_and_10_percent() -> None:
    """The example of the HPA documentation: 10 % of 80 is 8, and 7.2 is rounded up to 8. Below 40 it is 4 at a time."""
    down = rules(0, (PolicyType.PODS, 4, 60), (PolicyType.PERCENT, 10, 60))
    life = Life(scaler(QUEUE_15, maximum=100, behavior=Behavior(DEFAULT_SCALE_UP, down)), 80)
    sizes: list[int] = []
    while life.size > 10 and len(sizes) < 50:
        life.step(value(150_000), after=60)
        sizes.append(life.size)
    assert sizes[:2] == [72, 64]
    below_40 = [size for size in sizes if size < 40]
    assert all(before - after == 4 for before, after in pairwise(below_40[:-1]))
    assert sizes[-1] == 10


def seed_behavior() -> Behavior:
    return Behavior(rules(0, (PolicyType.PERCENT, 900, 300)), rules(60, (PolicyType.PODS, 1, 10)))


def test_900_percent_takes_1_to_10_at_once_and_to_13_after_the_period() -> None:
    """One rise uses the whole allowance of 300 s. The rest of the load waits for the period's end."""
    life = Life(scaler(PER_ONE, maximum=15, behavior=seed_behavior()), 1)
    sizes: list[tuple[int, int]] = []
    for second in range(302):
        before = life.size
        life.step(samples([13_000 // life.size] * life.size, life.now + timedelta(seconds=1)), after=1)
        if life.size != before:
            sizes.append((second, life.size))
    assert sizes == [(0, 10), (300, 13)]


def test_13_fall_to_1_one_at_a_time_every_10_seconds_after_the_window() -> None:
    """The scale-down window holds the size for 60 s.

    Then one instance is removed every 10 s, with an event for each step.
    """
    life = Life(scaler(PER_ONE, maximum=15, behavior=seed_behavior()), 13)
    life.step(samples([1000] * 13, life.now), after=0)
    leaves: list[tuple[int, int]] = []
    events: list[tuple[str, str]] = []
    for second in range(1, 200):
        before = life.size
        decision = life.step(samples([1000 // life.size] * life.size, life.now + timedelta(seconds=1)), after=1)
        events += [(event.reason, event.message) for event in decision.events]
        if life.size != before:
            leaves.append((second, life.size))
    assert [size for _, size in leaves] == list(range(12, 0, -1))
    assert leaves[0][0] == 60
    assert {later - earlier for (earlier, _), (later, _) in pairwise(leaves)} == {10}
    assert events == [
        ("SuccessfulRescale", f"New size: {size}; reason: All metrics below target") for size in range(12, 0, -1)
    ]


def test_without_behavior_one_step_rises_to_twice_the_size_and_at_least_4() -> None:
    life = Life(scaler(QUEUE_15, maximum=100), 1)
    sizes = [life.step(value(1_500_000), after=15).desired for _ in range(6)]
    assert sizes == [4, 8, 16, 32, 64, 100]


def test_a_disabled_direction_never_moves() -> None:
    down = ScalingRules(timedelta(0), SelectPolicy.DISABLED, DEFAULT_SCALE_DOWN.policies)
    life = Life(scaler(QUEUE_15, behavior=Behavior(DEFAULT_SCALE_UP, down)), 8)
    decisions = [life.step(value(0), after=60) for _ in range(20)]
    assert life.size == 8
    assert decisions[-1].trace[-1].reason == "ScaleDownLimit"


def test_stabilization_ignores_a_brief_dip() -> None:
    """One low reading does not lower the highest recommendation of five minutes."""
    life = Life(scaler(QUEUE_15, maximum=100), 10)
    life.step(value(150_000))
    dip = life.step(value(15_000), after=15)
    assert dip.desired == 10
    assert [(step.reason, step.before, step.after) for step in dip.trace][:2] == [
        ("ValidMetricFound", 10, 1),
        ("ScaleDownStabilized", 1, 10),
    ]


def test_a_size_outside_the_bounds_is_put_back_at_once_without_metrics() -> None:
    life = Life(scaler(QUEUE_15, minimum=2, maximum=5), 9)
    decision = life.step(value(0))
    assert life.size == 5
    assert decision.metrics == ()
