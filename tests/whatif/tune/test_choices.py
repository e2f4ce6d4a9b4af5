"""The values that `tune` tries."""

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autoscaler.model import Autoscaler, Behavior, MetricType, PolicyType, ScalingPolicy, SelectPolicy, TargetType
from autoscaler.whatif.tune.choices import Choices, Group
from tests.decide.build import CPU_60, QUEUE_15, metric, scaler
from tests.replaced import replace

WEB = scaler(CPU_60, QUEUE_15, maximum=10, behavior=Behavior())


def values(choices: Choices, autoscaler: Autoscaler, axis: int) -> list[Autoscaler]:
    """The autoscaler with each value of one axis."""
    space = choices.space
    return [choices.at((*space.start[:axis], place, *space.start[axis + 1 :])) for place in range(space.sizes[axis])]


@pytest.mark.parametrize("autoscaler", [WEB, scaler(CPU_60), replace(WEB, min_replicas=0)])
def test_the_start_is_the_configuration_itself(autoscaler: Autoscaler) -> None:
    """Also without a behavior, which has another algorithm."""
    choices = Choices(autoscaler)
    assert choices.at(choices.space.start) is autoscaler


def test_values_around_a_target_are_tried() -> None:
    """In round numbers; a utilization is at most 100 %."""
    tried = values(Choices(WEB), WEB, 0)
    assert [each.metrics[0].target.value for each in tried] == [36, 42, 48, 54, 60, 66, 72, 81, 90]
    high = scaler(metric(MetricType.RESOURCE, TargetType.UTILIZATION, 80, "cpu"))
    assert max(each.metrics[0].target.value for each in values(Choices(high), high, 0)) == 96
    assert {each.metrics[1] for each in tried} == {QUEUE_15}


def test_every_metric_has_its_own_axis() -> None:
    tried = values(Choices(WEB), WEB, 1)
    assert [each.metrics[1].target.value for each in tried][:3] == [9000, 11_000, 12_000]
    assert {each.metrics[0] for each in tried} == {CPU_60}


@pytest.mark.parametrize("group", Group)
def test_keys_to_keep_are_not_tried(group: Group) -> None:
    kept, all_ = Choices(WEB, [group]).space, Choices(WEB).space
    assert 0 < len(kept.sizes) < len(all_.sizes)


def test_a_disabled_direction_stays_disabled() -> None:
    never = replace(
        WEB, behavior=Behavior(scale_down=replace(Behavior().scale_down, select_policy=SelectPolicy.DISABLED))
    )
    choices = Choices(never, [Group.TARGET])
    for axis in range(len(choices.space.sizes)):
        for each in values(choices, never, axis):
            assert each.behavior is not None
            assert each.behavior.scale_down == never.behavior.scale_down  # type: ignore[union-attr]  # see above


def test_the_configured_values_are_tried() -> None:
    """Even unusual ones."""
    odd = replace(
        WEB,
        behavior=Behavior(
            scale_down=replace(
                Behavior().scale_down,
                stabilization_window=timedelta(seconds=77),
                tolerance=0.07,
                policies=(ScalingPolicy(PolicyType.PODS, 3, timedelta(seconds=33)),),
            )
        ),
    )
    choices = Choices(odd)
    assert choices.at(choices.space.start) == odd
    assert max(choices.space.sizes) == 9


@given(st.data())
def test_every_combination_is_a_valid_configuration(data: st.DataObject) -> None:
    """Windows within an hour, targets above 0, at least one policy."""
    choices = Choices(WEB)
    made = choices.at(tuple([data.draw(st.integers(0, size - 1)) for size in choices.space.sizes]))
    assert all(each.target.value > 0 for each in made.metrics)
    if made.behavior is not None:
        for rules in (made.behavior.scale_up, made.behavior.scale_down):
            assert rules.policies
            assert rules.stabilization_window is None or rules.stabilization_window <= timedelta(hours=1)
    assert (made.min_replicas, made.max_replicas, made.name) == (WEB.min_replicas, WEB.max_replicas, WEB.name)
